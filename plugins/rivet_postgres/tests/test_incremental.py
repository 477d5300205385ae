"""Cursors: what is read next, what is saved, and what never happens (a row lost, a row invented)."""

from __future__ import annotations

from collections import Counter

import pytest

from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import Mark, Mode, UnitKind

STAMP = "timestamp with time zone"


def ids(table):
    return sorted(table["id"].to_pylist())


@pytest.fixture
def orders(source):
    source.execute("CREATE TABLE t (id int PRIMARY KEY, u timestamptz, v text)")
    source.execute(
        "INSERT INTO t SELECT g, timestamptz '2024-01-01 00:00+00' + (g / 3) * interval '1 s', 'x' "
        "FROM generate_series(1, 30) g"
    )
    return source


def test_pair_cursor_passes_ties_exactly_once(orders):
    first, marks = orders.incremental("t", "u")
    assert ids(first) == list(range(1, 31))
    assert marks == (
        Mark(column="u", type=STAMP, value="2024-01-01 00:00:10+00"),
        Mark(column="id", type="integer", value="30"),
    )
    orders.execute(
        "INSERT INTO t VALUES (31, '2024-01-01 00:00:10+00'), (29000, '2024-01-01 00:00:10+00'), (0, '2024-01-01 00:00:09+00')"
    )
    second, marks = orders.incremental("t", "u", committed=marks)
    assert ids(second) == [31, 29000]
    assert marks[1].value == "29000"


def test_i06_nothing_new_leaves_the_cursor_and_an_empty_first_run_leaves_it_unset(orders):
    _, marks = orders.incremental("t", "u")
    nothing, after = orders.incremental("t", "u", committed=marks)
    assert nothing.num_rows == 0
    assert after is None
    orders.execute("INSERT INTO t VALUES (99, '2025-01-01 00:00+00')")
    assert ids(orders.incremental("t", "u", committed=marks)[0]) == [99]
    orders.execute("CREATE TABLE empty (id int PRIMARY KEY)")
    rows, after = orders.incremental("empty", "id")
    assert (rows.num_rows, after) == (0, None)


def test_without_a_key_boundary_rows_come_again_and_none_is_lost(source):
    source.execute("CREATE TABLE t (id int, u timestamp NOT NULL)")
    source.execute("INSERT INTO t VALUES (1, '2024-01-01'), (2, '2024-01-02'), (3, '2024-01-02')")
    _, marks = source.incremental("t", "u")
    source.execute("INSERT INTO t VALUES (4, '2024-01-02')")
    again, after = source.incremental("t", "u", committed=marks)
    assert ids(again) == [2, 3, 4]
    assert after == marks


def test_i05_integer_cursors_compare_as_integers(source):
    source.execute(
        "CREATE TABLE t (id int PRIMARY KEY, s text); INSERT INTO t VALUES (1, '1'), (9, '9'), (10, '10'), (11, '11')"
    )
    assert source.incremental("t", "id")[1][0].value == "11"
    with pytest.raises(ConfigError, match="collation"):
        source.incremental("t", "s")
    assert source.incremental("t", "s", allow_text_cursor=True)[1][0].value == "9"


def test_i01_the_session_zone_never_moves_the_cursor(source, database):
    source.execute("CREATE TABLE t (id int PRIMARY KEY, u timestamptz NOT NULL, z timestamp NOT NULL)")
    source.execute("INSERT INTO t VALUES (1, '2024-01-01 00:00+00', '2024-01-01 00:00')")
    _, marks = source.incremental("t", "u")
    try:
        source.execute(f"ALTER ROLE {database.user} SET timezone = 'Asia/Kolkata'", admin=True)
        source.reopen()
        source.execute("INSERT INTO t VALUES (2, '2024-01-01 00:00:01+00', '2024-01-01 00:00')")
        rows, marks = source.incremental("t", "u", committed=marks)
        assert ids(rows) == [2]
        assert marks[0].value == "2024-01-01 00:00:01+00"
        assert source.incremental("t", "z")[1][0].value == "2024-01-01 00:00:00"
    finally:
        source.execute(f"ALTER ROLE {database.user} RESET timezone", admin=True)


@pytest.mark.parametrize("type_", ["json", "jsonb", "bytea", "boolean", "xml", "point", "int[]", "interval", "inet"])
def test_i10_types_without_order_are_refused_with_their_name(source, type_):
    source.execute(f"CREATE TABLE t (id int PRIMARY KEY, c {type_})")
    with pytest.raises(ConfigError) as caught:
        source.incremental("t", "c")
    assert "c" in caught.value.message
    assert type_.removesuffix("[]").replace("int", "int") in caught.value.message


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("bigint", ["-9223372036854775808", "9223372036854775806", "9223372036854775807"]),
        ("numeric", ["1.000000000000000000001", "1.000000000000000000002", "'1e30'"]),
        ("numeric(30,2)", ["-1.5", "10.25", "123456789012345678901234567.5"]),
        ("float8", ["-0.5", "5e-324", "0.1"]),
        ("date", ["'0044-03-15 BC'", "'2024-01-01'", "'9999-12-31'"]),
        ("timestamp", ["'2024-01-01 00:00:00.000001'", "'2024-01-01 00:00:00.000002'", "'12024-01-01'"]),
        ("timestamptz", ["'2024-01-01 00:00:00.000001+05:30'", "'2024-01-01 00:00+00'", "'2024-01-01 00:00-01'"]),
        (
            "uuid",
            [
                "'00000000-0000-0000-0000-000000000001'",
                "'7fffffff-0000-0000-0000-000000000000'",
                "'ffffffff-0000-0000-0000-000000000000'",
            ],
        ),
    ],
)
def test_marks_round_trip_at_full_precision(source, type_, values):
    source.execute(f"CREATE TABLE t (id int PRIMARY KEY, c {type_} NOT NULL)")
    source.execute(f"INSERT INTO t VALUES (1, {values[0]}), (2, {values[1]})")
    rows, marks = source.incremental("t", "c")
    assert ids(rows) == [1, 2]
    source.execute(f"INSERT INTO t VALUES (3, {values[2]})")
    rows, marks = source.incremental("t", "c", committed=marks)
    assert ids(rows) == [3]
    rows, _ = source.incremental("t", "c", committed=marks)
    assert rows.num_rows == 0


def test_null_cursors_by_policy(orders):
    orders.execute("INSERT INTO t VALUES (100, NULL), (101, NULL)")
    spec = orders.spec("t", mode=Mode.INCREMENTAL, cursor=("u",))
    units = orders.session.units(spec, ())
    assert [unit.kind for unit in units] == [UnitKind.CURSOR, UnitKind.NULLS]
    nulls, stream = orders.read_unit(spec, units[1])
    assert (ids(nulls), stream.marks) == ([100, 101], None)
    skip = orders.spec("t", mode=Mode.INCREMENTAL, cursor=("u",), null_cursor="skip")
    (unit,) = orders.session.units(skip, ())
    rows, stream = orders.read_unit(skip, unit)
    assert rows.num_rows == 30
    assert stream.counts == {"u: null cursor skipped": 2}
    with pytest.raises(SourceError, match="null_cursor") as caught:
        orders.incremental("t", "u", null_cursor="fail")
    assert caught.value.error_class == "data"


@pytest.mark.parametrize("policy", ["null_counted", "text"])
@pytest.mark.parametrize("column", ["date NOT NULL", "timestamp", "timestamptz NOT NULL"])
def test_moments_outside_of_time_are_no_cursor(source, column, policy):
    """One without an end sorts past every mark, and came again with each run; one without a beginning was never seen."""
    source.execute(f"CREATE TABLE t (id int PRIMARY KEY, u {column})")
    source.execute("INSERT INTO t VALUES (1, '2024-01-01'), (2, 'infinity'), (3, '2024-01-02'), (4, '-infinity')")
    if "timestamp" in column:
        source.execute("INSERT INTO t VALUES (5, '294250-01-01')")
    outside = [2, 4, 5] if "timestamp" in column else [2, 4]
    spec = source.spec("t", mode=Mode.INCREMENTAL, cursor=("u",), out_of_range=policy)
    units = source.session.units(spec, ())
    assert [unit.kind for unit in units] == [UnitKind.CURSOR, UnitKind.NULLS]
    rows, stream = source.read_unit(spec, units[0])
    assert ids(rows) == [1, 3]
    nulls, counted = source.read_unit(spec, units[1])
    assert ids(nulls) == outside
    assert counted.counts == ({"u: null_counted": len(outside)} if policy == "null_counted" else {})
    moved, _ = source.read_unit(spec, source.session.units(spec, stream.marks)[0])
    assert moved.num_rows == 0
    skip = source.spec("t", mode=Mode.INCREMENTAL, cursor=("u",), out_of_range=policy, null_cursor="skip")
    (unit,) = source.session.units(skip, stream.marks)
    _, stream = source.read_unit(skip, unit)
    assert stream.counts == {"u: null cursor skipped": len(outside)}


def test_coalesce_reads_by_the_first_that_is_set(source):
    source.execute("CREATE TABLE t (id int PRIMARY KEY, u timestamp, c timestamp NOT NULL)")
    source.execute("INSERT INTO t VALUES (1, NULL, '2024-01-01'), (2, '2024-01-05', '2024-01-01'), (3, NULL, '2024-01-03')")
    rows, marks = source.incremental("t", "u", "c", cursor_mode="coalesce")
    assert ids(rows) == [1, 2, 3]
    assert rows.column_names == ["id", "u", "c"]
    assert marks[0] == Mark(column="coalesce(u, c)", type="timestamp without time zone", value="2024-01-05 00:00:00")
    source.execute("INSERT INTO t VALUES (4, NULL, '2024-01-05'), (5, NULL, '2024-01-04')")
    rows, _ = source.incremental("t", "u", "c", cursor_mode="coalesce", committed=marks)
    assert ids(rows) == [4]


@pytest.mark.parametrize(
    ("kind", "finer", "values"),
    [
        ("timestamp(0)", "timestamp", ("2024-01-01 12:00:00.7", "2024-01-01 12:00:00.9", "2024-01-01 12:00:01")),
        ("whole_seconds", "timestamp", ("2024-01-01 12:00:00.7", "2024-01-01 12:00:00.9", "2024-01-01 12:00:01")),
        ("timestamptz(3)", "timestamptz", ("2024-01-01 12:00:00.0017", "2024-01-01 12:00:00.0019", "2024-01-01 12:00:00.002")),
        ("numeric(10,2)", "numeric(10,4)", ("1.0055", "1.0075", "1.01")),
        ("varchar(3)", "varchar(9)", ("abcx", "abcy", "abd")),
        ("char(3)", "char(9)", ("abcx", "abcy", "abd")),
    ],
)
def test_coalesce_goes_on_where_the_finer_column_stood(source, kind, finer, values):
    """Cast to the coarser column's type, a bound would be rounded past rows, or cut to before those that were delivered."""
    first, second, third = values
    source.execute("CREATE DOMAIN whole_seconds AS timestamp(0)")
    source.execute(f"CREATE TABLE t (id int PRIMARY KEY, u {kind}, c {finer}); INSERT INTO t VALUES (1, NULL, '{first}')")
    asked = {"cursor_mode": "coalesce", "allow_text_cursor": True}
    rows, marks = source.incremental("t", "u", "c", **asked)
    assert ids(rows) == [1]
    source.execute(f"INSERT INTO t VALUES (2, NULL, '{second}'), (3, '{third}', NULL)")
    rows, marks = source.incremental("t", "u", "c", committed=marks, **asked)
    assert ids(rows) == [2, 3]
    rows, _ = source.incremental("t", "u", "c", committed=marks, **asked)
    assert ids(rows) == []


def test_the_cursor_need_not_be_among_the_columns(orders):
    rows, marks = orders.incremental("t", "u", columns=("v", "id"))
    assert rows.column_names == ["v", "id"]
    assert marks[0].value == "2024-01-01 00:00:10+00"
    overridden, same = orders.incremental("t", "u", overrides={"u": "text"})
    assert same == marks
    assert overridden["u"][0].as_py() == "2024-01-01 00:00:00+00"


def test_lookback_reads_again_and_never_moves_back(orders):
    _, marks = orders.incremental("t", "u")
    rows, after = orders.incremental("t", "u", committed=marks, lookback_seconds=3)
    assert ids(rows) == list(range(21, 31))
    assert after == marks
    orders.execute("DELETE FROM t WHERE id = 30")
    _, after = orders.incremental("t", "u", committed=marks, lookback_seconds=3)
    assert after is None


def test_i13_a_changed_type_is_refused_with_the_way_out(orders):
    _, marks = orders.incremental("t", "u")
    with pytest.raises(ConfigError, match="id"):
        orders.incremental("t", "id", committed=marks)
    orders.execute("ALTER TABLE t ALTER u TYPE timestamp")
    orders.session._facts.clear()
    with pytest.raises(ConfigError, match="without time zone") as caught:
        orders.incremental("t", "u", committed=marks)
    assert "rivet state reset -e e" in caught.value.hint


def test_a_query_can_be_incremental(orders):
    query = "SELECT id, u FROM t WHERE v LIKE 'x%' -- only x;"
    rows, marks = orders.incremental(None, "id", query=query)
    assert rows.num_rows == 30
    orders.execute("INSERT INTO t VALUES (31, now(), 'x'), (32, now(), 'y')")
    assert ids(orders.incremental(None, "id", query=query, committed=marks)[0]) == [30, 31]


def test_infinite_cursors_do_not_stop_the_cursor(orders):
    orders.execute("INSERT INTO t VALUES (50, 'infinity')")
    _, marks = orders.incremental("t", "u", out_of_range="null_counted")
    assert marks[0].value == "2024-01-01 00:00:10+00"
    rows, as_text = orders.incremental("t", "u", out_of_range="text")
    assert (rows["u"].to_pylist().count("infinity"), as_text) == (1, marks)
    with pytest.raises(SourceError, match="infinite timestamp"):
        orders.incremental("t", "u")


@pytest.mark.parametrize(("type_", "value"), [("float8", "NaN"), ("float4", "Infinity"), ("numeric", "NaN")])
def test_a_cursor_is_not_left_at_the_end_of_its_order(source, type_, value):
    """What sorts last is read, and then every later row would be missed without a word."""
    source.execute(f"CREATE TABLE t(id int PRIMARY KEY, u {type_}); INSERT INTO t VALUES (1, 1), (2, '-Infinity')")
    _, marks = source.incremental("t", "u")
    source.execute(f"INSERT INTO t VALUES (3, '{value}')")
    with pytest.raises(SourceError, match="behind which nothing sorts"):
        source.incremental("t", "u", committed=marks)
    assert source.full("t").num_rows == 3


def test_rows_of_all_runs_are_the_table(orders):
    seen, marks = Counter(), ()
    for turn in range(4):
        rows, after = orders.incremental("t", "u", committed=marks)
        seen.update(rows["id"].to_pylist())
        marks = after or marks
        orders.execute(
            f"INSERT INTO t SELECT 1000 * {turn + 1} + g, timestamptz '2024-02-01 00:00+00' + {turn} * interval '1 h' "
            "FROM generate_series(1, 5) g"
        )
    rows, _ = orders.incremental("t", "u", committed=marks)
    seen.update(rows["id"].to_pylist())
    assert set(seen) == {row[0] for row in orders.execute("SELECT id FROM t")}
    assert max(seen.values()) == 1
