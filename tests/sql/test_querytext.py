from __future__ import annotations

import sqlite3

import pytest

from rivet_core.errors import ConfigError
from rivet_core.sql.dialect import SQLITE, Dialect
from rivet_core.sql.querytext import derived_table, statement

POSTGRES = Dialect("postgres", dollar_quotes=True)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS a",
        "SELECT 1 AS a;",
        "SELECT 1 AS a ; -- done",
        "SELECT 1 AS a -- no end;",
        "SELECT 1 AS a /* ; */ ;;\n",
        "SELECT 1 AS a, ';' AS b, '%s {x} :y' AS c",
        "-- first\nSELECT 'it''s; fine' AS a",
    ],
)
def test_wrapped_query_runs(query):
    sql = f"SELECT * FROM {derived_table(SQLITE, query)}"
    assert len(sqlite3.connect(":memory:").execute(sql).fetchall()) == 1


def test_the_text_is_untouched_but_for_its_end():
    query = "SELECT '%', '{}', ':a;' -- x;\n"
    assert statement(SQLITE, query) == query
    assert statement(POSTGRES, "SELECT $$;$$, $q$ ; $q$, E'\\';' ;") == "SELECT $$;$$, $q$ ; $q$, E'\\';' "
    assert statement(POSTGRES, "SELECT 1 /* a /* ; */ ; */;") == "SELECT 1 /* a /* ; */ ; */"


@pytest.mark.parametrize("query", ["", "  ;", "-- nothing", "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE t;"])
def test_nothing_and_more_than_one_are_refused(query):
    with pytest.raises(ConfigError):
        statement(POSTGRES, query)
