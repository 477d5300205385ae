from __future__ import annotations

import sqlite3

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.builtin.sqlite.types import affinity, kind_of, reading
from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import Fidelity, ReadSpec, TypeKind, Unit, UnitKind
from tests.builtin.sqlite.reading import read_unit, rows_of

WHOLE = Unit(index=0, kind=UnitKind.WHOLE)


@pytest.mark.parametrize(
    "declared",
    ["INTEGER", "INT", "TINYINT", "UNSIGNED BIG INT", "CHARINT", "FLOATING POINT",
     "VARCHAR(20)", "NCHAR(5)", "TEXT", "CLOB", "BLOB", "",
     "REAL", "DOUBLE PRECISION", "FLOAT", "NUMERIC", "DECIMAL(10,5)", "BOOLEAN", "DATE", "DATETIME", "JSON", "UUID", "STRING"],
)  # fmt: skip
def test_affinity_is_what_sqlite_does(declared: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t (c {declared})")
    connection.execute("INSERT INTO t VALUES ('5'), (5.5)")
    stored = [kind for (kind,) in connection.execute("SELECT typeof(c) FROM t")]
    seen = {
        ("integer", "real"): {"INTEGER", "NUMERIC"},
        ("real", "real"): {"REAL"},
        ("text", "text"): {"TEXT"},
        ("text", "real"): {"BLOB"},
    }
    assert str(affinity(declared)) in seen[tuple(stored)]


@pytest.mark.parametrize(
    ("declared", "kind", "arrow", "fidelity"),
    [
        ("BIGINT", TypeKind.INTEGER, pa.int64(), Fidelity.EXACT),
        ("DOUBLE", TypeKind.FLOAT, pa.float64(), Fidelity.EXACT),
        ("VARCHAR(9)", TypeKind.TEXT, pa.string(), Fidelity.EXACT),
        ("BLOB", TypeKind.BYTES, pa.binary(), Fidelity.EXACT),
        ("BOOLEAN", TypeKind.BOOLEAN, pa.int64(), Fidelity.EXACT),
        ("DECIMAL(10,2)", TypeKind.DECIMAL, pa.string(), Fidelity.TEXT),
        ("DATE", TypeKind.DATE, pa.string(), Fidelity.TEXT),
        ("DATETIME", TypeKind.TIMESTAMP, pa.string(), Fidelity.TEXT),
        ("TIMESTAMPTZ", TypeKind.TIMESTAMPTZ, pa.string(), Fidelity.TEXT),
        ("JSON", TypeKind.JSON, pa.string(), Fidelity.TEXT),
        ("", TypeKind.OTHER, pa.string(), Fidelity.TEXT),
    ],
)
def test_a_declaration_promises_a_type(declared: str, kind: TypeKind, arrow: pa.DataType, fidelity: Fidelity) -> None:
    found = reading(declared)
    assert (kind_of(declared), found.arrow, found.fidelity) == (kind, arrow, fidelity)


VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["INTEGER", "REAL", "TEXT", "BLOB", "DECIMAL(8,2)", "BOOLEAN", "DATETIME", ""]),
    st.lists(VALUES, max_size=8),
)
def test_a_value_arrives_exact_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, declared: str, values: list[object]
) -> None:
    path = tmp_path_factory.mktemp("values") / "t.db"
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE t (c {declared})")
    connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    connection.commit()
    stored = connection.execute("SELECT c, typeof(c) FROM t").fetchall()
    connection.close()
    allowed = set(reading(declared).storage) | {"null"}
    big = declared == "REAL" and any(isinstance(v, int) and abs(v) > 2**53 for v, _ in stored)
    session = SqliteSession(path)
    try:
        if {kind for _, kind in stored} <= allowed and not big:
            table, _, _ = read_unit(session, ReadSpec(export="e", table="t"), WHOLE)
            got = table.column("c").to_pylist()
            if table.schema.field("c").type == pa.string() and declared != "TEXT":
                assert got == [None if v is None else v if isinstance(v, str) else repr(v) for v, _ in stored]
            else:
                assert got == [v for v, _ in stored]
                assert [type(v) for v in got] == [float if declared == "REAL" and v is not None else type(v) for v, _ in stored]
        else:
            with pytest.raises(SourceError) as caught:
                read_unit(session, ReadSpec(export="e", table="t"), WHOLE)
            assert "column c" in caught.value.message
            assert "rowid" in caught.value.message
            assert "columns: {c:" in caught.value.hint
            assert not caught.value.transient
    finally:
        session.close()


def test_text_in_an_integer_column_names_the_row_and_the_override(database, open_session) -> None:
    path = database(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)", ("INSERT INTO t VALUES (?, ?)", [(1, 5), (17, "five")])
    )
    session = open_session(path)
    spec = ReadSpec(export="numbers", table="t")
    with pytest.raises(SourceError, match=r"t, column n: row id=17 holds text where an integer was promised") as caught:
        read_unit(session, spec, WHOLE)
    assert caught.value.hint == "correct the row, or say `columns: {n: text}` under the export numbers"
    table, _, _ = read_unit(session, ReadSpec(export="numbers", table="t", overrides={"n": "text"}), WHOLE)
    assert rows_of(table) == [(1, "5"), (17, "five")]


def test_text_that_is_not_utf8_is_refused_and_binary_takes_it(database, open_session) -> None:
    path = database("CREATE TABLE t (s TEXT)", ("INSERT INTO t VALUES (CAST(? AS TEXT))", [(b"ok",), (b"\xff\xfe",)]))
    session = open_session(path)
    with pytest.raises(SourceError, match=r"column s: rowid 2 holds text that is not UTF-8") as caught:
        read_unit(session, ReadSpec(export="e", table="t"), WHOLE)
    assert "columns: {s: binary}" in caught.value.hint
    table, _, _ = read_unit(session, ReadSpec(export="e", table="t", overrides={"s": "binary"}), WHOLE)
    assert table.column("s").to_pylist() == [b"ok", b"\xff\xfe"]


@pytest.mark.parametrize(
    ("declared", "override", "stored", "expected"),
    [
        ("DECIMAL(10,2)", "decimal(10,2)", [1, 2.5, -0.25, None], ["1.00", "2.50", "-0.25", None]),
        ("TEXT", "decimal(40,3)", ["1" * 37 + ".125"], ["1" * 37 + ".125"]),
        ("BOOLEAN", "bool", [0, 1, None], ["False", "True", None]),
        ("DATE", "date", ["2026-02-28"], ["2026-02-28"]),
        (
            "DATETIME",
            "timestamp",
            ["2026-02-28T01:02:03.5", "2026-02-28"],
            ["2026-02-28 01:02:03.500000", "2026-02-28 00:00:00"],
        ),
        ("DATETIME", "timestamptz", ["2026-02-28 01:00:00+02:00"], ["2026-02-27 23:00:00+00:00"]),
        ("INTEGER", "int16", [-(2**15), 2**15 - 1], ["-32768", "32767"]),
        ("REAL", "real", [0.5], ["0.5"]),
        ("TEXT", "uuid", ["00000000-0000-0000-0000-00000000000a"], ["00000000-0000-0000-0000-00000000000a"]),
        ("TEXT", "json", ['{"a": 1}', ' [1e400, "\\ud800"]', None], ['{"a": 1}', ' [1e400, "\\ud800"]', None]),
    ],
)
def test_overrides_that_fit(database, open_session, declared, override, stored, expected) -> None:
    path = database(f"CREATE TABLE t (c {declared})", ("INSERT INTO t VALUES (?)", [(value,) for value in stored]))
    table, _, _ = read_unit(open_session(path), ReadSpec(export="e", table="t", overrides={"c": override}), WHOLE)
    assert [None if v is None else str(v) for v in table.column("c").to_pylist()] == expected


@pytest.mark.parametrize(
    ("declared", "override", "value"),
    [
        ("DECIMAL(10,2)", "decimal(10,2)", 0.125),
        ("DECIMAL(10,2)", "decimal(4,2)", 100),
        ("DECIMAL(10,2)", "decimal(4,2)", "n/a"),
        ("DECIMAL(10,2)", "decimal(4,2)", float("inf")),
        ("BOOLEAN", "bool", 2),
        ("BOOLEAN", "bool", "true"),
        ("DATE", "date", "2026-02-30"),
        ("DATE", "date", "20260228"),
        ("DATETIME", "timestamp", "2026-02-28 01:00:00+02:00"),
        ("DATETIME", "timestamp", "2026-02-28 01:02:03.1234567"),
        ("DATETIME", "timestamp", 1700000000),
        ("INTEGER", "int16", 2**15),
        ("REAL", "real", 0.1),
        ("BLOB", "uuid", b"short"),
        ("TEXT", "json", "{'a': 1}"),
        ("REAL", "json", float("inf")),
        ("TEXT", "binary", None),
    ],
)
def test_overrides_that_do_not_fit_fail_loudly(database, open_session, declared, override, value) -> None:
    path = database(f"CREATE TABLE t (c {declared})", ("INSERT INTO t VALUES (?)", [(value,)]))
    spec = ReadSpec(export="e", table="t", overrides={"c": override})
    if value is None:
        assert rows_of(read_unit(open_session(path), spec, WHOLE)[0]) == [(None,)]
        return
    with pytest.raises(SourceError, match="column c"):
        read_unit(open_session(path), spec, WHOLE)


def test_an_override_nobody_knows_is_refused_before_a_row_is_read(database, open_session) -> None:
    session = open_session(database("CREATE TABLE t (c TEXT)"))
    with pytest.raises(ConfigError, match="money"):
        session.units(ReadSpec(export="e", table="t", overrides={"c": "money"}), ())
    with pytest.raises(ConfigError, match="no column 'd'"):
        session.units(ReadSpec(export="e", table="t", overrides={"d": "text"}), ())
