from __future__ import annotations

import itertools
import sqlite3

import pytest

from rivet_core.errors import ConfigError
from rivet_core.facts import TypeKind
from rivet_core.sql.dialect import SQLITE, Dialect

SPELLED = Dialect("mysql", quote_mark="`", row_values=False)


@pytest.mark.parametrize("name", ['a"b', "Order", "a.b", "я", "a%b", "a b", ":x", "{}"])
def test_names_pass_byte_for_byte(name):
    con = sqlite3.connect(":memory:")
    con.execute(f"CREATE TABLE {SQLITE.quote(name)} (x)")
    assert con.execute("SELECT name FROM sqlite_master").fetchall() == [(name,)]


def test_the_quote_mark_is_doubled():
    assert SPELLED.quote("a`b") == "`a``b`"
    assert SQLITE.qualified(("", "t")) == '"t"'


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_impossible_names_are_refused(name):
    with pytest.raises(ConfigError):
        SQLITE.quote(name)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (TypeKind.INTEGER, "1; DROP TABLE t"),
        (TypeKind.INTEGER, "1e5"),
        (TypeKind.DECIMAL, "NaN"),
        (TypeKind.FLOAT, "x"),
        (TypeKind.BYTES, "\\xzz"),
        (TypeKind.TEXT, "a\0"),
    ],
)
def test_a_literal_is_checked_before_it_reaches_a_statement(kind, value):
    with pytest.raises(ConfigError):
        SQLITE.literal(kind, value)


@pytest.mark.parametrize("operator", [">", ">=", "<", "<="])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_spelled_out_comparison_equals_row_values(operator, width):
    con = sqlite3.connect(":memory:")
    names = ["a", "b", "c"][:width]
    con.execute(f"CREATE TABLE t ({', '.join(names)})")
    rows = list(itertools.product([1, 2, 3], repeat=width))
    con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * width)})", rows)
    for bound in rows:
        literals = [str(v) for v in bound]
        results = [
            con.execute(f"SELECT * FROM t WHERE {d.compare(names, operator, literals)}").fetchall() for d in (SQLITE, SPELLED)
        ]
        assert sorted(results[0]) == sorted(results[1])
