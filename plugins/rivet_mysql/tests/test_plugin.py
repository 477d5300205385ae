"""The hook is light and what it names is there."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import rivet_mysql
from rivet_core.api import SourceSession, SourceSpec
from rivet_core.facts import TypeKind
from rivet_mysql.dialect import MYSQL, split_name

HEAVY = ("pyarrow", "pymysql", "connectorx", "pydantic", "sqlalchemy", "fsspec")


def test_the_hook_offers_both_names_and_imports_nothing():
    code = f"import rivet_mysql, sys; rivet_mysql.rivet_sources(); print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_references_resolve():
    records = rivet_mysql.rivet_sources()
    assert [record.name for record in records] == ["mysql", "mariadb"]
    for record in records:
        assert isinstance(record, SourceSpec)
        for reference in (record.options, record.connect):
            module, _, name = str(reference).partition(":")
            assert callable(getattr(import_module(module), name))


def test_the_session_is_a_source_session():
    from rivet_mysql.session import MysqlSession

    assert all(hasattr(MysqlSession, name) for name in ("limit", "inspect", "probe", "units", "read", "cancel", "close"))
    assert isinstance(MysqlSession, type)
    assert SourceSession is not None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("t", ("", "t")),
        ("d.t", ("d", "t")),
        ("`d.x`.`t``y`", ("d.x", "t`y")),
        ("d.`t`", ("d", "t")),
        ("Ünder_1$", ("", "Ünder_1$")),
    ],
)
def test_names(text, parts):
    assert split_name(text) == parts


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a.b.c", "`a", "`a`b", "``"])
def test_bad_names(text):
    with pytest.raises(ValueError):
        split_name(text)


def test_literals_do_not_depend_on_the_sql_mode():
    assert MYSQL.string("it's") == "'it''s'"
    assert MYSQL.string("a\\b") == "_utf8mb4 X'615c62'"
    assert MYSQL.quote("a`b") == "`a``b`"
    assert MYSQL.literal(TypeKind.TIMESTAMPTZ, "2024-01-01 00:00:00.5+00") == "'2024-01-01 00:00:00.5'"
    assert MYSQL.literal(TypeKind.DATE, "0001-02-03 BC") == "'0000-02-03'"
    assert MYSQL.literal(TypeKind.BYTES, "\\x00ff") == "CAST(X'00ff' AS BINARY)"
    assert MYSQL.compare(["a", "b"], ">", ["1", "2"]) == "(a >= 1 AND ((a > 1) OR (a = 1 AND b > 2)))"
