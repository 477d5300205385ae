from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import Mark, Mode, ReadSpec, Tuning, Unit, UnitKind
from tests.builtin.sqlite.reading import read_unit, rows_of, run

WHOLE = Unit(index=0, kind=UnitKind.WHOLE)


@pytest.mark.parametrize("name", ["order", "two words", 'quo"te', "naïve-表", "a.b", "100%", "semi;colon", "--x"])
def test_any_name_is_read_byte_for_byte(database, open_session, name) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    path = database(
        f"CREATE TABLE {quoted} ({quoted} INTEGER, other TEXT)", (f"INSERT INTO {quoted} VALUES (?, ?)", [(1, "x"), (2, None)])
    )
    session = open_session(path)
    table, _, _ = read_unit(session, ReadSpec(export="e", table=name), WHOLE)
    assert table.schema.names == [name, "other"]
    assert rows_of(table) == [(1, "x"), (2, None)]
    spec = ReadSpec(export="e", table=name, mode=Mode.INCREMENTAL, cursor=(name,))
    assert rows_of(run(session, spec, ())[0]) == [(1, "x"), (2, None)]


def test_names_differ_by_case_only_when_nothing_is_exact(database, open_session) -> None:
    session = open_session(database("CREATE TABLE Users (Id INTEGER)", ("INSERT INTO Users VALUES (?)", [(1,)])))
    for written in ("Users", "users", "main.Users", "MAIN.users", '"Users"', "[Users]"):
        assert rows_of(read_unit(session, ReadSpec(export="e", table=written), WHOLE)[0]) == [(1,)]


def test_generated_columns_and_column_choice(database, open_session) -> None:
    script = "CREATE TABLE t (a INTEGER, b INTEGER AS (a * 2) VIRTUAL, c INTEGER AS (a + 1) STORED)"
    session = open_session(database(script, ("INSERT INTO t (a) VALUES (?)", [(1,), (5,)])))
    assert rows_of(read_unit(session, ReadSpec(export="e", table="t"), WHOLE)[0]) == [(1, 2, 2), (5, 10, 6)]
    table = read_unit(session, ReadSpec(export="e", table="t", columns=("c", "a")), WHOLE)[0]
    assert (table.schema.names, rows_of(table)) == (["c", "a"], [(2, 1), (6, 5)])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, name FROM t WHERE name LIKE '%:a{}' -- done",
        "SELECT id, name FROM t WHERE name LIKE '%:a{}';\n/* ; */ ;",
        "WITH x AS (SELECT * FROM t) SELECT id, name FROM x WHERE name LIKE '%:a{}'",
    ],
)
def test_queries_pass_through_untouched(database, open_session, query) -> None:
    path = database(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)", ("INSERT INTO t VALUES (?, ?)", [(1, "x:a{}"), (2, "b")])
    )
    assert rows_of(read_unit(open_session(path), ReadSpec(export="e", query=query), WHOLE)[0]) == [(1, "x:a{}")]


@pytest.mark.parametrize("query", ["DELETE FROM t", "SELECT 1; SELECT 2", "", "PRAGMA user_version = 3", "SELECT nope FROM t"])
def test_what_is_no_select_is_refused(database, open_session, query) -> None:
    session = open_session(database("CREATE TABLE t (id INTEGER)", ("INSERT INTO t VALUES (?)", [(1,)])))
    with pytest.raises((SourceError, ConfigError)):
        read_unit(session, ReadSpec(export="e", query=query), WHOLE)
    assert rows_of(read_unit(session, ReadSpec(export="e", table="t"), WHOLE)[0]) == [(1,)]


def test_batches_are_bounded_and_hold_every_row(database, open_session) -> None:
    rows = [(i, "x" * (i % 97), bytes(i % 13)) for i in range(5000)]
    path = database("CREATE TABLE t (a INTEGER, b TEXT, c BLOB)", ("INSERT INTO t VALUES (?, ?, ?)", rows))
    session = open_session(path)
    stream = session.read(ReadSpec(export="e", table="t", tuning=Tuning(batch_bytes=50_000)), WHOLE)
    batches = list(stream)
    assert len(batches) > 20
    assert max(batch.nbytes for batch in batches) <= 50_000
    assert rows_of(pa.Table.from_batches(batches)) == rows
    by_rows = list(session.read(ReadSpec(export="e", table="t", tuning=Tuning(batch_rows=1500)), WHOLE))
    assert [batch.num_rows for batch in by_rows] == [1500, 1500, 1500, 500]


def test_wide_rows_after_narrow_ones_stay_within_bounds(database, open_session) -> None:
    rows = [(i, b"") for i in range(2000)] + [(i, bytes(1 << 20)) for i in range(2000, 2100)]
    path = database("CREATE TABLE t (a INTEGER, b BLOB)", ("INSERT INTO t VALUES (?, ?)", rows))
    batches = list(open_session(path).read(ReadSpec(export="e", table="t", tuning=Tuning(batch_bytes=4 << 20)), WHOLE))
    assert sum(batch.num_rows for batch in batches) == 2100
    assert max(batch.nbytes for batch in batches) < 40 << 20
    assert max(batch.nbytes for batch in batches[-10:]) < 6 << 20


def test_an_empty_table_has_a_schema_and_no_marks(database, open_session) -> None:
    session = open_session(database("CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME NOT NULL)"))
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",))
    table, marks, counts = read_unit(session, spec, session.units(spec, ())[0])
    assert (table.num_rows, table.schema.names, marks, counts) == (0, ["id", "at"], None, {})
    assert table.schema.field("at").nullable is False
    assert table.schema.field("at").metadata == {b"rivet.source_type": b"DATETIME"}


TIMES = [f"2026-01-0{day} 0{hour}:00:00" for day in (1, 2) for hour in (1, 2, 3)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([None, *TIMES]), st.integers(0, 3)), max_size=25),
    st.lists(st.integers(0, 25), max_size=3),
    st.sampled_from(["id INTEGER PRIMARY KEY", "id TEXT NOT NULL PRIMARY KEY", "id INTEGER", "id TEXT PRIMARY KEY"]),
    st.booleans(),
)
def test_incremental_loses_no_row(tmp_path_factory, rows, stops, key, indexed) -> None:
    """Rows arrive in the order of their time, in several lots that may part ties; every run sees its lot, ties included."""
    path = tmp_path_factory.mktemp("incremental") / "t.db"
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE t ({key}, at DATETIME, v INTEGER)")
    if indexed:
        connection.execute("CREATE INDEX t_at ON t (at)")
    dated = sorted((row for row in rows if row[0]), key=lambda row: row[0])
    undated = [row for row in rows if not row[0]]
    numbered = [(number if "INTEGER" in key else f"k{number:03d}", *row) for number, row in enumerate([*dated, *undated])]
    lots, edges = [], sorted({0, *(min(stop, len(numbered)) for stop in stops), len(numbered)})
    for start, end in pairwise(edges):
        lots.append(numbered[start:end])
    session = SqliteSession(path)
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",))
    seen: list[tuple[object, ...]] = []
    committed: tuple[Mark, ...] = ()
    exact = key in ("id INTEGER PRIMARY KEY", "id TEXT NOT NULL PRIMARY KEY")
    try:
        for lot in [*lots, []]:
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", lot)
            connection.commit()
            past, without, committed = run(session, spec, committed)
            seen += rows_of(past)
            everything = connection.execute("SELECT id, at, v FROM t").fetchall()
            assert sorted(rows_of(without)) == sorted(row for row in everything if row[1] is None)
            assert set(seen) == {row for row in everything if row[1] is not None}
            if exact:
                assert len(seen) == len(set(seen))
    finally:
        session.close()
        connection.close()


@pytest.mark.parametrize(
    ("key", "cursor", "expected"),
    [
        ("id INTEGER PRIMARY KEY", "id", 90),
        ("v INTEGER PRIMARY KEY", "id", None),
        ("id INT PRIMARY KEY NOT NULL", "id", None),
    ],
)
def test_a_cursor_on_the_rowid_knows_what_lies_past_it(database, open_session, key, cursor, expected) -> None:
    rows = [(i, i) for i in range(1, 101)]
    other = "v" if key.startswith("id") else "id"
    session = open_session(database(f"CREATE TABLE t ({key}, {other} INTEGER NOT NULL)", ("INSERT INTO t VALUES (?, ?)", rows)))
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=(cursor,))
    (first, *_) = session.units(spec, ())
    declared = key.split()[1] if key.startswith(cursor) else "INTEGER"
    (later, *_) = session.units(spec, (Mark(column=cursor, type=declared, value="10"),))
    (past, *_) = session.units(spec, (Mark(column=cursor, type=declared, value="200"),))
    assert (first.rows, later.rows, past.rows) == (None, expected, None if expected is None else 0)


def test_the_pair_orders_ties_and_a_unique_cursor_needs_none(database, open_session) -> None:
    rows = [(i, f"2026-01-01 00:00:0{i // 4}") for i in range(12)]
    session = open_session(
        database("CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME NOT NULL)", ("INSERT INTO t VALUES (?, ?)", rows))
    )
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",))
    (unit,) = session.units(spec, ())
    assert (unit.columns, unit.lower_inclusive) == (("at", "id"), False)
    _, marks, _ = read_unit(session, spec, unit)
    assert [(m.column, m.type, m.value) for m in marks or ()] == [
        ("at", "DATETIME", "2026-01-01 00:00:02"),
        ("id", "INTEGER", "11"),
    ]
    (unit,) = session.units(
        ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("id",)), (Mark(column="id", type="INTEGER", value="9"),)
    )
    assert unit.columns == ("id",)
    assert (
        rows_of(read_unit(session, ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("id",)), unit)[0])
        == rows[10:]
    )


def test_without_a_key_the_boundary_is_read_again(database, open_session) -> None:
    session = open_session(
        database(
            "CREATE TABLE t (at INTEGER NOT NULL, v TEXT)", ("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, "b"), (2, "c")])
        )
    )
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",))
    _, _, marks = run(session, spec, ())
    (unit,) = session.units(spec, marks)
    assert (unit.columns, unit.lower_inclusive) == (("at",), True)
    assert sorted(rows_of(read_unit(session, spec, unit)[0])) == [(2, "b"), (2, "c")]


def test_cursor_columns_that_are_not_asked_for_are_stripped(database, open_session) -> None:
    path = database(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME, v TEXT)",
        ("INSERT INTO t VALUES (?, ?, ?)", [(1, "2026-01-01", "a")]),
    )
    session = open_session(path)
    spec = ReadSpec(export="e", table="t", columns=("v",), mode=Mode.INCREMENTAL, cursor=("at",))
    past, _, marks = run(session, spec, ())
    assert (past.schema.names, rows_of(past)) == (["v"], [("a",)])
    assert [mark.value for mark in marks] == ["2026-01-01", "1"]


def test_coalesce_takes_the_first_that_is_set(database, open_session) -> None:
    rows = [(1, None, "2026-01-03"), (2, "2026-01-02", "2026-01-01"), (3, None, None), (4, "2026-01-04", None)]
    session = open_session(
        database(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, upd DATETIME, cre DATETIME)", ("INSERT INTO t VALUES (?, ?, ?)", rows)
        )
    )
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("upd", "cre"), cursor_mode="coalesce")
    past, without, marks = run(session, spec, ())
    assert [row[0] for row in rows_of(past)] == [2, 1, 4]
    assert rows_of(without) == [(3, None, None)]
    assert [(m.column, m.value) for m in marks] == [("coalesce(upd, cre)", "2026-01-04"), ("id", "4")]
    assert run(session, spec, marks)[0].num_rows == 0
    before = (
        Mark(column="coalesce(upd, cre)", type="DATETIME", value="2026-01-02"),
        Mark(column="id", type="INTEGER", value="2"),
    )
    assert [row[0] for row in rows_of(run(session, spec, before)[0])] == [1, 4]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["2026-01-01 00:00:00", 1700000000], "holds numbers and text"),
        (["2026-01-01 00:00:00", "01/02/2026"], "not ISO time"),
        (["2026-01-01 00:00:00", "2026-01-01T00:00:00"], "mixes times"),
        (["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z"], "mixes times"),
        (["2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00+02:00"], "mixes times"),
    ],
)
def test_time_cursors_whose_bytes_do_not_sort_by_time_are_refused(database, open_session, values, told) -> None:
    session = open_session(database("CREATE TABLE t (at DATETIME)", ("INSERT INTO t VALUES (?)", [(v,) for v in values])))
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",))
    with pytest.raises(SourceError, match=told):
        run(session, spec, ())


@pytest.mark.parametrize(
    ("first", "late", "refused"),
    [
        ("2026-01-01 00:00:00", "", True),
        ("2026-01-01 00:00:00", " 2026-01-02", True),
        ("2026-01-01 00:00:00", "12.01.2026", True),
        ("2026-01-01 00:00:00", "1/2/2026", True),
        ("2026-01-01 00:00:00", "n/a", True),
        ("2026-01-01T10:00:00", "2026-01-01 12:00:00", True),
        ("2026-01-01", "", True),
        ("2026-01-01 00:00:00", "1066-10-14 09:00:00", False),
        ("2026-01-01T10:00:00", "2026-01-01T09:00:00", False),
        ("2026-01-01T10:00:00", "2026-01-01", False),
        ("2026-01-01T10:00:00", "2026-01-01T11:00:00", False),
    ],
)
def test_text_written_below_the_cursor_in_another_form_is_no_silent_loss(database, open_session, first, late, refused) -> None:
    path = database("CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME)", ("INSERT INTO t (at) VALUES (?)", [(first,)]))
    session = open_session(path)
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",))
    _, _, marks = run(session, spec, ())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO t (at) VALUES (?)", [late])
        connection.commit()
    if refused:
        with pytest.raises(SourceError, match=r"before the end of the last run|not ISO time"):
            run(session, spec, marks)
    else:
        run(session, spec, marks)
    run(session, replace(spec, allow_text_cursor=True), marks)


@pytest.mark.parametrize(
    "values", [[1700000000, 1700000005], [1700000000.25, 1700000000.5], ["2026-01-01", "2026-01-01 00:00:00"]]
)
def test_time_cursors_of_one_order_are_read(database, open_session, values) -> None:
    session = open_session(
        database(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME)", ("INSERT INTO t (at) VALUES (?)", [(v,) for v in values])
        )
    )
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",))
    past, _, marks = run(session, spec, ())
    assert [row[1] for row in rows_of(past)] == [str(v) for v in values]
    assert run(session, spec, marks)[0].num_rows == 0


def test_text_cursors_need_leave_and_blobs_have_none(database, open_session) -> None:
    session = open_session(
        database("CREATE TABLE t (a TEXT, b BLOB, c BOOLEAN, d)", ("INSERT INTO t (a) VALUES (?)", [("b",), ("a",)]))
    )
    for column in ("a", "b", "c", "d", "nope"):
        with pytest.raises(ConfigError, match=column):
            session.units(ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=(column,)), ())
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("a",), allow_text_cursor=True)
    assert [row[0] for row in rows_of(run(session, spec, ())[0])] == ["a", "b"]


def test_a_key_that_may_hold_null_breaks_no_ties(database, open_session) -> None:
    rows = [(None, 1), (None, 1), ("x", 1)]
    session = open_session(
        database("CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER NOT NULL)", ("INSERT INTO t VALUES (?, ?)", rows))
    )
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("n",))
    past, _, marks = run(session, spec, ())
    assert (past.num_rows, [m.column for m in marks]) == (3, ["n"])
    assert run(session, spec, marks)[0].num_rows == 3


def test_a_collation_of_its_own_never_hides_a_row(database, open_session) -> None:
    script = "CREATE TABLE t (k TEXT COLLATE NOCASE NOT NULL); CREATE UNIQUE INDEX t_k ON t (k COLLATE BINARY)"
    path = database(script, ("INSERT INTO t VALUES (?)", [("a",)]))
    session = open_session(path)
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("k",), allow_text_cursor=True)
    past, _, marks = run(session, spec, ())
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO t VALUES ('A')")
    connection.close()
    assert ("A",) in rows_of(past) + rows_of(run(session, spec, marks)[0])


def test_null_cursors_are_skipped_and_counted_or_fail(database, open_session) -> None:
    rows = [(1, "2026-01-01"), (2, None), (3, None)]
    session = open_session(database("CREATE TABLE t (id INTEGER PRIMARY KEY, at DATE)", ("INSERT INTO t VALUES (?, ?)", rows)))
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",), null_cursor="skip")
    (unit,) = session.units(spec, ())
    table, _, counts = read_unit(session, spec, unit)
    assert (table.num_rows, counts) == (1, {"at: null cursor skipped": 2})
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",), null_cursor="fail")
    nulls = session.units(spec, ())[1]
    with pytest.raises(SourceError, match="null_cursor is fail"):
        read_unit(session, spec, nulls)


def test_lookback_reads_a_span_again(database, open_session) -> None:
    rows = [(i, f"2026-01-01T00:{i:02d}:00Z") for i in range(30)]
    session = open_session(
        database("CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME NOT NULL)", ("INSERT INTO t VALUES (?, ?)", rows))
    )
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",), lookback_seconds=600)
    _, _, marks = run(session, spec, ())
    (unit,) = session.units(spec, marks)
    assert unit.lower_inclusive
    assert [row[0] for row in rows_of(read_unit(session, spec, unit)[0])] == list(range(19, 30))
    numbers = open_session(
        database(
            "CREATE TABLE t (at TIMESTAMP)", ("INSERT INTO t VALUES (?)", [(1700000000 + i,) for i in range(30)]), name="n.db"
        )
    )
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("at",), lookback_seconds=10)
    _, _, marks = run(numbers, spec, ())
    assert read_unit(numbers, spec, numbers.units(spec, marks)[0])[0].num_rows == 11


def test_float_marks_keep_their_last_bit(database, open_session) -> None:
    values = [0.1 + i * 1e-17 for i in range(40)] + [5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 1 / 3]
    session = open_session(
        database("CREATE TABLE t (x REAL UNIQUE NOT NULL)", ("INSERT OR IGNORE INTO t VALUES (?)", [(v,) for v in values]))
    )
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("x",))
    ordered = sorted(set(values))
    for place, value in enumerate(ordered):
        found = run(session, spec, (Mark(column="x", type="REAL", value=repr(value)),))[0]
        assert [row[0] for row in rows_of(found)] == ordered[place + 1 :]


def test_a_saved_cursor_of_another_column_or_type_is_refused(database, open_session) -> None:
    session = open_session(database("CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME)"))
    spec = ReadSpec(export="e", table="t", mode=Mode.INCREMENTAL, cursor=("id",))
    for mark in (Mark(column="at", type="DATETIME", value="2026-01-01"), Mark(column="id", type="TEXT", value="1")):
        with pytest.raises(ConfigError, match="saved cursor"):
            session.units(spec, (mark,))


def test_cancel_stops_a_running_statement_and_the_session_goes_on(database, open_session) -> None:
    path = database("CREATE TABLE t (id INTEGER PRIMARY KEY)", ("INSERT INTO t VALUES (?)", [(i,) for i in range(3000)]))
    session = open_session(path)
    spec = ReadSpec(export="e", query="SELECT count(*) AS n FROM t a, t b, t c WHERE a.id + b.id + c.id < -1")
    threading.Timer(0.3, session.cancel).start()
    with pytest.raises(SourceError, match="cancelled"):
        read_unit(session, spec, WHOLE)
    assert read_unit(session, ReadSpec(export="e", table="t"), WHOLE)[0].num_rows == 3000


def test_a_statement_timeout_names_itself(database, open_session) -> None:
    session = open_session(
        database("CREATE TABLE t (id INTEGER PRIMARY KEY)", ("INSERT INTO t VALUES (?)", [(i,) for i in range(3000)]))
    )
    query = "SELECT count(*) AS n FROM t a, t b, t c WHERE a.id + b.id + c.id < -1"
    with pytest.raises(SourceError, match="statement timeout") as caught:
        read_unit(session, ReadSpec(export="e", query=query, tuning=Tuning(statement_timeout_seconds=0.2)), WHOLE)
    assert (caught.value.error_class, caught.value.transient) == ("timeout", False)


def test_closing_a_stream_early_gives_the_connection_back(database, open_session) -> None:
    session = open_session(database("CREATE TABLE t (a INTEGER)", ("INSERT INTO t VALUES (?)", [(i,) for i in range(5000)])))
    session.limit(1)
    for _ in range(3):
        stream = session.read(ReadSpec(export="e", table="t", tuning=Tuning(batch_rows=10)), WHOLE)
        assert next(iter(stream)).num_rows == 10
        stream.close()
        stream.close()
    assert session.probe().engine == "sqlite"


def test_one_snapshot_holds_for_a_whole_unit(tmp_path: Path, open_session) -> None:
    path = tmp_path / "wal.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE t (a INTEGER)")
    writer.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(5000)])
    writer.commit()
    stream = open_session(path).read(ReadSpec(export="e", table="t", tuning=Tuning(batch_rows=100)), WHOLE)
    batches = iter(stream)
    got = next(batches).num_rows
    writer.execute("DELETE FROM t")
    writer.execute("INSERT INTO t VALUES (-1)")
    writer.commit()
    assert got + sum(batch.num_rows for batch in batches) == 5000
    writer.close()


def test_windows_cover_whole_days(database, open_session) -> None:
    today = datetime.now(UTC).date()
    moments = [f"{today - timedelta(days=days)}{form}" for days in range(6) for form in ("", " 00:00:00", "T23:59:59.999Z")]
    session = open_session(
        database("CREATE TABLE t (at DATETIME, v INTEGER)", ("INSERT INTO t VALUES (?, 1)", [(m,) for m in moments]))
    )
    spec = ReadSpec(export="e", table="t", mode=Mode.TIME_WINDOW, time_column="at", days_window=3)
    units = session.units(spec, ())
    assert [unit.lower[0].value for unit in units] == [str(today - timedelta(days=days)) for days in (3, 2, 1, 0)]
    for unit in units:
        assert sorted(row[0] for row in rows_of(read_unit(session, spec, unit)[0])) == sorted(
            m for m in moments if m.startswith(unit.lower[0].value)
        )
    unix = ReadSpec(export="e", table="t", mode=Mode.TIME_WINDOW, time_column="at", time_column_type="unix", days_window=3)
    with pytest.raises(SourceError, match="holds text"):
        read_unit(session, unix, session.units(unix, ())[0])
