from __future__ import annotations

import sqlite3
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.builtin.sqlite.chunks import Stretch, cut
from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import Mode, ReadSpec, UnitKind
from tests.builtin.sqlite.reading import read_all, read_unit, rows_of

INT64 = st.integers(-(2**63), 2**63 - 1)


def chunked(**keys: object) -> ReadSpec:
    return ReadSpec(export="e", table="t", mode=Mode.CHUNKED, **keys)


def assert_tiles(session: SqliteSession, spec: ReadSpec, rows: list[tuple[object, ...]]) -> list[int]:
    units = session.units(spec, ())
    assert [unit.index for unit in units] == list(range(len(units)))
    parts = [rows_of(read_unit(session, spec, unit)[0]) for unit in units]
    assert sorted((row for part in parts for row in part), key=repr) == sorted(rows, key=repr)
    ranges = [unit for unit in units if unit.kind is UnitKind.RANGE]
    assert all(left.upper == right.lower for left, right in pairwise(ranges))
    if ranges:
        assert (ranges[0].lower, ranges[-1].upper) == ((), ())
    return [len(part) for part in parts]


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.sets(INT64, max_size=40),
        st.sets(st.integers(-20, 20)),
        st.builds(lambda low, count: set(range(low, low + count)), st.integers(-(10**12), 10**12), st.integers(1, 200)),
        st.just({-(2**63), 2**63 - 1}),
    ),
    st.sampled_from([{"chunk_size": 1}, {"chunk_size": 7}, {"chunk_count": 3}, {"chunk_count": 50}, {}]),
    st.sampled_from(["INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY NOT NULL"]),
)
def test_units_tile_any_integers(tmp_path_factory, keys, sizes, declared) -> None:
    path = tmp_path_factory.mktemp("chunks") / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE t (id {declared})")
        connection.executemany("INSERT INTO t VALUES (?)", [(key,) for key in keys])
    connection.close()
    session = SqliteSession(path)
    try:
        assert_tiles(session, chunked(**sizes), [(key,) for key in keys])
    finally:
        session.close()


def far_apart() -> list[int]:
    return [*range(1, 10_001), *range(10**15, 10**15 + 10_000), *range(-(10**17), -(10**17) + 5_000)]


@pytest.mark.parametrize(
    ("keys", "most"),
    [
        (list(range(20_000)), 1),
        ([i * 1_000_003 for i in range(20_000)], 1),
        (far_apart(), 2),
        ([i * i * i for i in range(20_000)], 3),
        ([-i * 7 for i in range(20_000)] + [2**62], 2),
    ],
    ids=["dense", "sparse", "far apart", "skewed", "one far away"],
)
def test_units_follow_rows_and_not_span(database, open_session, keys, most) -> None:
    session = open_session(
        database("CREATE TABLE t (id INTEGER PRIMARY KEY)", ("INSERT INTO t VALUES (?)", [(key,) for key in keys]))
    )
    sizes = assert_tiles(session, chunked(chunk_size=1000), [(key,) for key in keys])
    wanted = len(keys) / 1000
    assert wanted / 2 <= len(sizes) <= wanted * 2 + 1
    assert max(sizes) <= 1000 * (most + 1)
    assert assert_tiles(session, chunked(chunk_count=10), [(key,) for key in keys])
    assert len(session.units(chunked(chunk_count=10), ())) in range(8, 13)


@pytest.mark.parametrize("rows", [[], [(5,)], [(-3,), (-2,)]])
def test_little_is_one_unit(database, open_session, rows) -> None:
    session = open_session(database("CREATE TABLE t (id INTEGER PRIMARY KEY)", ("INSERT INTO t VALUES (?)", rows)))
    (unit,) = session.units(chunked(), ())
    assert unit.kind is UnitKind.WHOLE
    assert rows_of(read_unit(session, chunked(), unit)[0]) == rows


@pytest.mark.parametrize(
    ("script", "rows"),
    [
        ("CREATE TABLE t (k TEXT NOT NULL PRIMARY KEY)", [(f"{i * 7919 % 500:x}é",) for i in range(500)]),
        ("CREATE TABLE t (k TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID", [(f"{'aB'[i % 2]}{i}",) for i in range(500)]),
        (
            "CREATE TABLE t (a TEXT NOT NULL, b DATE NOT NULL, PRIMARY KEY (a, b))",
            [(f"k{i // 28}", f"2026-01-{i % 28 + 1:02d}") for i in range(196)],
        ),
        ("CREATE TABLE t (a INTEGER NOT NULL, b REAL NOT NULL, PRIMARY KEY (a, b))", [(i // 50, i / 3) for i in range(500)]),
    ],
)
def test_keysets_tile_text_and_composite_keys(database, open_session, script, rows) -> None:
    places = ", ".join("?" * len(rows[0]))
    session = open_session(database(script, (f"INSERT INTO t VALUES ({places})", rows)))
    sizes = assert_tiles(session, chunked(chunk_by_key=True, chunk_size=60), rows)
    assert len(sizes) >= len(rows) // 60
    assert max(sizes) <= 60
    assert 4 <= len(assert_tiles(session, chunked(chunk_by_key=True, chunk_count=5), rows)) <= 6


def test_nulls_in_the_leading_key_column_have_their_unit(database, open_session) -> None:
    rows = [(None, 1), (None, 1), *((i, i) for i in range(300))]
    session = open_session(
        database("CREATE TABLE t (a INTEGER, b INTEGER, PRIMARY KEY (a, b))", ("INSERT INTO t VALUES (?, ?)", rows))
    )
    spec = chunked(chunk_size=100)
    units = session.units(spec, ())
    assert units[-1].kind is UnitKind.NULLS
    assert sorted(rows_of(read_all(session, spec, units)), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE t (v INTEGER)",
        "CREATE TABLE t (v TEXT PRIMARY KEY)",
        "CREATE TABLE u (v); CREATE VIEW t AS SELECT v FROM u",
    ],
)
def test_without_a_key_to_cut_by_it_is_one_unit(database, open_session, script) -> None:
    (unit,) = open_session(database(script)).units(chunked(chunk_size=1), ())
    assert unit.kind is UnitKind.WHOLE


def test_what_cannot_be_tiled_is_refused(database, open_session) -> None:
    session = open_session(database("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO t VALUES (1, 1)"))
    with pytest.raises(ConfigError, match="not in the primary key"):
        session.units(chunked(chunk_column="n"), ())
    with pytest.raises(ConfigError, match="no column 'x'"):
        session.units(chunked(chunk_column="x"), ())
    with pytest.raises(ConfigError, match="no snapshot"):
        session.units(chunked(snapshot="consistent"), ())
    mixed = open_session(
        database("CREATE TABLE t (id INT PRIMARY KEY NOT NULL); INSERT INTO t VALUES (1), ('x')", name="mixed.db")
    )
    with pytest.raises(SourceError, match="more than the integers"):
        mixed.units(chunked(), ())


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 50)), min_size=1), st.integers(1, 60))
def test_cuts_ascend_and_stay_inside(parts, units) -> None:
    stretches, at = [], -500
    for gap, width, rows in parts:
        stretches.append(Stretch(at + gap, at + gap + width - 1, rows))
        at += gap + width
    cuts = cut(stretches, units)
    assert cuts == sorted(set(cuts))
    assert len(cuts) <= units - 1 or units == 1
    assert all(stretches[0].low <= c < stretches[-1].high for c in cuts)


def test_days_of_the_key(tmp_path) -> None:
    path = tmp_path / "t.db"
    moments = [f"2024-02-{day}{clock}" for day in (27, 28, 29) for clock in (" 00:00:00", "T12:30:00", " 23:59:59.999999")]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (at TIMESTAMP, id INTEGER, PRIMARY KEY (at, id))")
        connection.executemany("INSERT INTO t VALUES (?, 1)", [(moment,) for moment in [*moments, None]])
        connection.execute("CREATE TABLE d (at DATE PRIMARY KEY NOT NULL, n DATETIME)")
        connection.executemany("INSERT INTO d VALUES (?, 5)", [(f"2024-02-{day}",) for day in (25, 27, 28)])
        connection.execute("CREATE TABLE n (at DATETIME PRIMARY KEY NOT NULL)")
        connection.execute("INSERT INTO n VALUES (1700000000)")
        connection.execute("CREATE TABLE k (at DATETIME)")
    connection.close()
    session = SqliteSession(path)
    try:
        assert assert_tiles(session, chunked(chunk_by_days=1), [(m, 1) for m in moments] + [(None, 1)]) == [3, 3, 3, 1]
        spec = spec_of("d", chunk_by_days=2)
        dates = [read_unit(session, spec, unit)[0] for unit in session.units(spec, ())]
        assert [table.num_rows for table in dates] == [1, 2]
        for table, keys, message in (
            ("t", {"chunk_column": "id"}, "needs a date or timestamp"),
            ("d", {"chunk_column": "n"}, "not in the primary key"),
            ("k", {}, "no primary key"),
        ):
            with pytest.raises(ConfigError, match=message):
                session.units(spec_of(table, chunk_by_days=1, **keys), ())
        with pytest.raises(SourceError, match="no ISO dates"):
            session.units(spec_of("n", chunk_by_days=1), ())
    finally:
        session.close()


def spec_of(table: str, **keys: object) -> ReadSpec:
    return ReadSpec(export="e", table=table, mode=Mode.CHUNKED, **keys)
