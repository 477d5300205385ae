"""Chunked reads: units tile the key, whatever the key."""

from __future__ import annotations

import pytest

from rivet_core.errors import ConfigError
from rivet_core.facts import Mode, Tuning, UnitKind


def ids(tables, name="id"):
    return sorted(value for table in tables for value in table[name].to_pylist())


def full(source, table, name="id"):
    return sorted(row[0] for row in source.execute(f'SELECT "{name}" FROM ONLY "{table}"'))


def test_c01_null_keys_have_their_own_unit(source):
    source.execute("CREATE TABLE t(k int UNIQUE, v text); INSERT INTO t VALUES (1,'a'),(2,'b'),(NULL,'c'),(NULL,'d'),(100,'e')")
    tables = source.chunked("t", chunk_column="k", chunk_count=3, snapshot="consistent")
    assert ids(tables, "v") == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("units", [1, 2, 3, 10, 11, 100])
@pytest.mark.parametrize("analyzed", [False, True])
def test_c07_eleven_rows_once_in_any_number_of_units(source, units, analyzed):
    source.execute("CREATE TABLE t(id int PRIMARY KEY); INSERT INTO t SELECT generate_series(0, 10)")
    if analyzed:
        source.execute("ANALYZE t")
    tables = source.chunked("t", chunk_count=units)
    assert ids(tables) == list(range(11))
    assert sum(1 for table in tables if table.num_rows) <= 11


@pytest.mark.parametrize("analyzed", [False, True])
def test_c05_skew_follows_rows(source, analyzed):
    source.execute("CREATE TABLE t(id bigint PRIMARY KEY)")
    source.execute("INSERT INTO t SELECT generate_series(1, 20000) UNION ALL SELECT 1843931943963660289")
    if analyzed:
        source.execute("ANALYZE t")
    tables = source.chunked("t", chunk_size=2000)
    assert ids(tables) == full(source, "t")
    sizes = sorted(table.num_rows for table in tables if table.num_rows)
    assert sizes[-1] <= 3 * 2000
    assert len(tables) <= 40


@pytest.mark.parametrize(
    ("type_", "rows"),
    [
        ("int", "SELECT g * 37 - 5000 FROM generate_series(1, 300) g"),
        ("smallint", "SELECT g - 100 FROM generate_series(1, 200) g"),
        ("bigint", "SELECT -9223372036854775808 UNION ALL SELECT 9223372036854775807 UNION ALL SELECT 0"),
        ("uuid", "SELECT md5(g::text)::uuid FROM generate_series(1, 300) g"),
        ("text", "SELECT 'k' || g FROM generate_series(1, 300) g"),
        ("numeric(20,3)", "SELECT g * 1.5 FROM generate_series(1, 300) g"),
        ("timestamptz", "SELECT timestamptz '2024-01-01 00:00+00' + g * interval '1.5 h' FROM generate_series(1, 300) g"),
        ("date", "SELECT date '2024-01-01' + g FROM generate_series(1, 300) g"),
    ],
    ids=lambda value: value if " " not in value else "",
)
@pytest.mark.parametrize("analyzed", [False, True])
def test_keys_of_every_type_tile(source, type_, rows, analyzed):
    source.execute(f"CREATE TABLE t(id {type_} PRIMARY KEY); INSERT INTO t {rows}")
    if analyzed:
        source.execute("ANALYZE t")
    tables = source.chunked("t", chunk_size=40)
    assert ids(tables) == full(source, "t")
    if analyzed and type_ != "bigint":
        assert len(tables) > 3


def test_an_inspection_that_names_the_key_spares_every_further_statement(source):
    names = [f"t{i}" for i in range(5)]
    for name in names:
        source.execute(f"CREATE TABLE {name}(id int PRIMARY KEY); INSERT INTO {name} SELECT generate_series(1, 1000)")
        source.execute(f"ANALYZE {name}")
    source.facts(*names, chunk_columns=("id",))
    log = source.database.log.mark()
    for name in names:
        assert len(source.session.units(source.spec(name, mode=Mode.CHUNKED, chunk_size=100), ())) == 10
    assert log.statements() == []


@pytest.mark.parametrize("analyzed", [True, False])
@pytest.mark.parametrize(
    ("definition", "values"),
    [
        ("region smallint, id int, PRIMARY KEY (region, id)", "g % 3, g"),
        ("tenant text, id int, PRIMARY KEY (tenant, id)", "'the only one', g"),
        (
            "a int, b text, c timestamptz, id int, PRIMARY KEY (a, b, c)",
            "1, 'x' || g % 2, to_timestamp(g * 3600), g",
        ),
        ("name text PRIMARY KEY, id int", "CASE g % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'B' ELSE 'é' END || g, g"),
        ('name text COLLATE "C" PRIMARY KEY, id int', "CASE g % 2 WHEN 0 THEN 'a' ELSE 'B' END || g, g"),
    ],
)
def test_c08_whole_keys_are_cut_where_their_first_column_is_too_coarse(source, definition, values, analyzed):
    source.execute(f"CREATE TABLE t({definition})")
    source.execute(f"INSERT INTO t SELECT {values} FROM generate_series(1, 3000) g")
    if analyzed:
        source.execute("ANALYZE t")
    tables = source.chunked("t", chunk_count=8)
    assert ids(tables) == list(range(1, 3001))
    assert len(tables) == 8
    sizes = sorted(table.num_rows for table in tables)
    assert sizes[-1] <= 2 * sizes[4], sizes


@pytest.mark.parametrize("analyzed", [True, False])
def test_c04_uuid_keys_need_no_minimum(source, analyzed):
    source.execute("CREATE TABLE t(k uuid PRIMARY KEY, id int)")
    source.execute("INSERT INTO t SELECT gen_random_uuid(), g FROM generate_series(1, 1000) g")
    if analyzed:
        source.execute("ANALYZE t")
    log = source.database.log.mark()
    tables = source.chunked("t", chunk_count=8)
    assert ids(tables) == list(range(1, 1001))
    assert len([table for table in tables if table.num_rows]) == 8
    assert not any("min(" in statement.lower() for statement in log.statements())


def test_c09_every_page_is_ordered_by_the_key(source):
    """Rows inserted in random order, some updated before, so that the heap's order is not the key's."""
    source.execute("CREATE TABLE t(id int PRIMARY KEY, v text)")
    source.execute("INSERT INTO t SELECT g, 'x' FROM generate_series(1, 1000) g ORDER BY md5(g::text)")
    source.execute("UPDATE t SET v = 'y' WHERE id % 7 = 0")
    log = source.database.log.mark()
    got = source.full("t", tuning=Tuning(page_seconds=1e-6, pause_share=0))
    assert got["id"].to_pylist() == list(range(1, 1001))
    pages = [statement for statement in log.statements() if "LIMIT" in statement and '"t"' in statement and '"v"' in statement]
    assert len(pages) >= 10
    assert all("ORDER BY" in page for page in pages)


def test_c10_a_computed_column_of_a_view_is_read_in_one_statement(source):
    source.execute("CREATE TABLE a(id int PRIMARY KEY, x int); CREATE TABLE b(id int PRIMARY KEY, y int)")
    for name in ("a", "b"):
        source.execute(f"INSERT INTO {name} SELECT g, g % 100 FROM generate_series(1, 20000) g; ANALYZE {name}")
    source.execute("CREATE VIEW v AS SELECT a.id, a.x + b.y AS k FROM a JOIN b ON b.id = a.id")
    source.facts("v", columns=("k",))
    log = source.database.log.mark()
    units = source.session.units(source.spec("v", mode=Mode.CHUNKED, chunk_column="k", chunk_count=8), ())
    assert len(units) == 1
    asked = " ".join(log.statements()).lower()
    assert "min(" not in asked
    assert "max(" not in asked
    assert "order by" not in asked.replace("order by not", "")
    assert len(source.chunked("v", chunk_column="k", chunk_count=8)[0]) == 20000


def test_c06_a_table_without_a_key_keeps_its_duplicates(source):
    source.execute("CREATE TABLE t(id int); INSERT INTO t SELECT LEAST(g, 998) FROM generate_series(1, 1000) g")
    tables = source.chunked("t", chunk_size=100, snapshot="consistent")
    assert len(tables) > 1
    assert len(ids(tables)) == 1000


def test_chunks_by_days(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, d timestamptz, e date)")
    source.execute(
        "INSERT INTO t SELECT g, timestamptz '2024-01-01 00:00+00' + g * interval '1 h', date '2024-01-01' + g / 24 "
        "FROM generate_series(0, 239) g"
    )
    source.execute("CREATE INDEX ON t (d); INSERT INTO t VALUES (500, NULL, NULL)")
    for column in ("d", "e"):
        spec = source.spec("t", mode=Mode.CHUNKED, chunk_column=column, chunk_by_days=2, snapshot="consistent")
        units = source.session.units(spec, ())
        sizes = [source.read_unit(spec, unit)[0].num_rows for unit in units]
        assert sizes == [48, 48, 48, 48, 48, 1], column
        assert units[-1].kind is UnitKind.NULLS


@pytest.mark.parametrize("index", ["INDEX ON t (k)", "UNIQUE INDEX ON t (k, id)", "UNIQUE INDEX ON t (k)"])
def test_a_column_that_is_not_the_primary_key_needs_one_snapshot(source, index):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, k int); INSERT INTO t SELECT g, g FROM generate_series(1, 1000) g")
    source.execute(f"CREATE {index}")
    with pytest.raises(ConfigError, match="move between units") as caught:
        source.chunked("t", chunk_column="k", chunk_count=4)
    assert caught.value.code == "needs_snapshot"
    assert "snapshot: consistent" in caught.value.hint
    assert ids(source.chunked("t", chunk_column="k", chunk_count=4, snapshot="consistent")) == list(range(1, 1001))


def test_c02_inherited_tables_are_read_once_each(source):
    source.execute("CREATE TABLE p(id int, v text); CREATE TABLE c(extra int) INHERITS (p)")
    source.execute("INSERT INTO p VALUES (1, 'a'), (2, 'b'); INSERT INTO c VALUES (3, 'c'), (4, 'd')")
    assert ids([source.full("p"), source.full("c")]) == [1, 2, 3, 4]
    assert "ONLY" in " ".join(source.facts("p")["p"].notes)


def test_partitioned_parents_hold_all_leaves(source):
    source.execute("""CREATE TABLE p(id int PRIMARY KEY) PARTITION BY RANGE (id);
        CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100); CREATE TABLE p2 PARTITION OF p DEFAULT;
        INSERT INTO p SELECT generate_series(1, 300)""")
    assert ids(source.chunked("p", chunk_count=4)) == list(range(1, 301))


@pytest.mark.parametrize(("column", "word"), [("j", "jsonb"), ("nope", "nope"), ("b", "boolean")])
def test_columns_that_cannot_be_cut_are_refused(source, column, word):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, j jsonb, b boolean)")
    with pytest.raises(ConfigError, match=word):
        source.chunked("t", chunk_column=column, chunk_count=2)


def test_time_windows_cover_whole_utc_days(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, d timestamptz, x bigint)")
    today = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
    source.execute(
        f"INSERT INTO t SELECT g, {today} - g * interval '12 h', EXTRACT(epoch FROM {today})::int8 - g * 43200 "
        "FROM generate_series(0, 20) g"
    )
    for keys in ({"time_column": "d"}, {"time_column": "x", "time_column_type": "unix"}):
        spec = source.spec("t", mode=Mode.TIME_WINDOW, days_window=3, **keys)
        units = source.session.units(spec, ())
        assert [source.read_unit(spec, unit)[0].num_rows for unit in units] == [2, 2, 2, 1]


def test_queries_and_views_are_cut_where_an_index_serves_the_key(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, k int); INSERT INTO t SELECT g, g FROM generate_series(1, 2000) g")
    source.execute("CREATE VIEW w AS SELECT id, k FROM t WHERE id > 100; ANALYZE t")
    for keys in ({"table": "w"}, {"table": None, "query": "SELECT id, k FROM t WHERE id > 100"}):
        parts = source.chunked(chunk_column="id", chunk_count=5, **keys)
        assert len(parts) > 3
        assert ids(parts) == list(range(101, 2001))
        assert len(source.chunked(chunk_column="k", chunk_count=5, **keys)) == 1


def test_units_survive_the_plan_file(source):
    from rivet_core.facts import Unit

    source.execute("CREATE TABLE t(id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 50)")
    spec = source.spec("t", mode=Mode.CHUNKED, chunk_count=4)
    units = [Unit.from_json(unit.to_json()) for unit in source.session.units(spec, ())]
    assert ids([source.read_unit(spec, unit)[0] for unit in units]) == list(range(1, 51))
