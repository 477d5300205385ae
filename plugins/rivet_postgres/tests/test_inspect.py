"""Catalog facts: how many statements they cost, what is known, what is unknown, and what is never assumed."""

from __future__ import annotations

import re
import time

import pytest

from rivet_core.facts import Basis, InspectItem, RelationKind, Role
from rivet_postgres.catalog import queries
from rivet_postgres.options import PostgresOptions
from rivet_postgres.session import connect


def make_tables(source, count, start=0):
    body = "".join(
        f"CREATE TABLE m{i} (id int PRIMARY KEY, u timestamptz DEFAULT now(), v text);" for i in range(start, start + count)
    )
    source.execute(body)


def logged(source, names, queries=0):
    log = source.database.log.mark()
    facts = source.session.inspect([InspectItem(name=name) for name in names])
    return facts, log.statements()


def test_the_number_of_statements_does_not_grow_with_the_tables(source):
    make_tables(source, 300)
    source.facts("m0")
    few, few_sent = logged(source, [f"m{i}" for i in range(10)])
    many, many_sent = logged(source, [f"m{i}" for i in range(300)])
    assert len(few_sent) == len(many_sent) == many.statements == few.statements
    assert many.statements <= 12
    assert len(many.tables) == 300


@pytest.mark.parametrize("sql", [queries.COLUMNS, queries.BOUNDS])
def test_s04_the_statistics_of_one_table_are_looked_up_by_its_name(source, sql):
    """A scan of all statistics took 0.8 s for one of 10,000 tables."""
    make_tables(source, 1)
    oids = source.execute("SELECT ARRAY['m0'::regclass::oid]")[0][0]
    values = {"oids": oids, "defaults": True, "relations": ["m0"], "schemas": ["public"], "tables": ["m0"], "columns": ["id"]}
    with source.database.connect() as connection:
        connection.execute("SET enable_seqscan = off")
        rows = connection.execute(f"EXPLAIN {queries.with_statistics(sql, 1)}", values).fetchall()
    plan = "\n".join(row[0] for row in rows)
    assert re.search(r"Index Cond: \(*relname = ANY", plan), plan


def test_only_named_tables_are_looked_at_and_everything_for_init(source):
    make_tables(source, 3)
    source.execute('CREATE SCHEMA "S.2"; CREATE TABLE "S.2"."T"(id int); CREATE VIEW w AS SELECT 1 AS a')
    source.execute("CREATE TABLE p(id int) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p DEFAULT")
    everything = source.session.inspect([])
    assert list(everything.tables) == ['"S.2".T', "public.m0", "public.m1", "public.m2", "public.p", "public.w"]
    assert set(source.session.inspect([InspectItem(name="m1")]).tables) == {"m1"}
    again = source.facts(*everything.tables)
    assert all(not facts.problem for facts in again.values())


def test_s08_nothing_is_counted_or_scanned(source):
    source.execute("CREATE TABLE p(id int PRIMARY KEY) PARTITION BY RANGE (id)")
    for i in range(20):
        source.execute(f"CREATE TABLE p_{i} PARTITION OF p FOR VALUES FROM ({i * 10}) TO ({i * 10 + 10})")
    source.execute("INSERT INTO p SELECT generate_series(0, 199)")
    facts, sent = logged(source, ["p"])
    assert not [sql for sql in sent if "count(*)" in sql.lower() and "pg_" not in sql]
    assert not [sql for sql in sent if re.search(r'(from|only)\s+(public\.)?"?p(_\d+)?\b"?', sql, re.IGNORECASE)]
    table = facts.tables["p"]
    assert table.kind is RelationKind.PARTITIONED
    assert len(table.partitions) == 20
    assert [evidence.signal for evidence in table.bytes] == ["table_bytes_measured"]
    assert table.rows[0].value == 200  # the leaves' own insert counters
    source.execute("ANALYZE p")
    rows = source.facts("p")["p"].rows[0]
    assert (rows.value, rows.quality, rows.basis) == (200, 80, Basis.STATISTICS)


def test_never_analyzed_is_unknown_and_a_stale_zero_is_not_empty(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, v text); ANALYZE t")
    empty = source.facts("t")["t"]
    assert (empty.rows[0].value, empty.bytes[0].value) == (0, 0)
    source.execute("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g")
    loaded = source.facts("t")["t"]
    assert loaded.rows[0].value != 0
    assert all(evidence.value > 0 for evidence in (*loaded.rows, *loaded.bytes))
    assert "ANALYZE" in " ".join(loaded.notes)


def test_rows_follow_todays_pages_as_the_planner_has_it(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, v text)")
    source.execute("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g")
    source.execute("ANALYZE t")
    source.execute("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(5001, 15000) g")
    facts = source.facts("t")["t"]
    planner = source.execute("EXPLAIN (FORMAT JSON) SELECT * FROM t")[0][0][0]["Plan"]["Plan Rows"]
    assert facts.rows[0].value == pytest.approx(planner, rel=0.01)
    assert facts.rows[0].changes == facts.changes_since_statistics == 10000
    # Three times the pages the catalog knows: the measured size goes first.
    assert [evidence.signal for evidence in facts.bytes] == ["table_bytes_measured", "table_bytes"]
    assert facts.inserts == 15000


def test_out_of_line_storage_counts(source):
    source.execute("CREATE TABLE t(id int, v text); ALTER TABLE t ALTER v SET STORAGE EXTERNAL")
    source.execute("INSERT INTO t SELECT g, repeat('x', 20000) FROM generate_series(1, 100) g")
    facts = source.facts("t")["t"]
    assert facts.out_of_line_bytes > 2_000_000
    assert facts.bytes[0].value > facts.out_of_line_bytes


def test_a_locked_table_stalls_nothing(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY, u timestamptz DEFAULT now()); CREATE TABLE other(id int DEFAULT 7)")
    source.facts("other")
    with source.database.connect() as blocker:
        blocker.autocommit = False
        blocker.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        started = time.monotonic()
        facts = source.facts("t", "other")
        assert time.monotonic() - started < 2
        blocker.rollback()
    assert not facts["t"].problem
    assert facts["other"].columns[0].default == "7"
    assert facts["t"].columns[1].generated == "default"


def test_columns_and_indexes(source):
    source.execute("""CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int NOT NULL, b text DEFAULT 'x',
        s serial, ts timestamptz(3)); CREATE UNIQUE INDEX t_ab ON t (a, b); CREATE INDEX t_part ON t (a) WHERE a > 5;
        CREATE INDEX t_expr ON t (lower(b)); CREATE INDEX t_hash ON t USING hash (a);
        CREATE INDEX t_pat ON t (b text_pattern_ops);
        CREATE INDEX t_inc ON t (ts) INCLUDE (a)""")
    table = source.facts("t")["t"]
    assert table.primary_key == ("id",)
    assert table.is_unique("id")
    assert not table.is_unique("a")
    assert {name: table.leads_index(name) for name in ("id", "a", "b", "ts")} == {"id": True, "a": True, "b": False, "ts": True}
    keys = {index.name: index.columns for index in table.indexes}
    assert keys["t_ab"] == ("a", "b")
    assert keys["t_expr"] == ("",)
    assert keys["t_inc"] == ("ts",)
    by_name = {column.name: column for column in table.columns}
    assert [by_name[name].generated for name in ("id", "a", "b", "s")] == ["identity", "", "default", "sequence"]
    assert by_name["ts"].precision == 3
    assert not by_name["a"].nullable


def test_statistics_of_columns(source):
    source.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    source.execute("INSERT INTO t SELECT g, CASE WHEN g % 2 = 0 THEN 1 END FROM generate_series(1, 1000) g; ANALYZE t")
    by_name = {column.name: column for column in source.facts("t")["t"].columns}
    assert by_name["id"].n_distinct == -1
    assert by_name["id"].correlation == pytest.approx(1)
    assert by_name["v"].null_frac == pytest.approx(0.5)
    assert source.facts("t")["t"].avg_width is not None


def test_n01_names_are_exact(source):
    source.execute(
        'CREATE TABLE "Users"(id int); CREATE TABLE users(id int); INSERT INTO "Users" VALUES (1); '
        "INSERT INTO users VALUES (1), (2)"
    )
    source.execute('CREATE SCHEMA "a.b"; CREATE TABLE "a.b"."Odd ""Name"(id int)')
    assert [source.full(name).num_rows for name in ("Users", "users", '"Users"', "public.users")] == [1, 2, 1, 2]
    assert source.full('"a.b"."Odd ""Name"').num_rows == 0
    facts = source.facts("Users", "users", '"a.b"."Odd ""Name"')
    assert [table.relation for table in facts.values()] == ["Users", "users", 'Odd "Name']
    missing = source.facts("USERS")["USERS"]
    assert missing.kind is RelationKind.MISSING
    assert "public.users" in missing.remedy
    assert "public.Users" in missing.remedy


def test_n02_reserved_words(source):
    source.execute('CREATE TABLE "user"("order" int, "group" text); INSERT INTO "user" VALUES (1, \'g\')')
    assert source.full("user").to_pylist() == [{"order": 1, "group": "g"}]


def test_n04_lookalike_columns_stay_apart_with_a_warning(source):
    cyrillic = "\u0430"
    source.execute(f'CREATE TABLE t("A" int, a int, "{cyrillic}" int, "a%s:x{{}}""" int); INSERT INTO t VALUES (1, 2, 3, 4)')
    table = source.full("t")
    assert table.column_names == ["A", "a", cyrillic, 'a%s:x{}"']
    assert [column[0].as_py() for column in table.columns] == [1, 2, 3, 4]
    assert "U+0430" in " ".join(source.facts("t")["t"].notes)


def test_the_search_path_decides_where_no_schema_is_named(source, database):
    source.execute("CREATE SCHEMA first; CREATE TABLE first.t(a int); CREATE TABLE public.t(b int)")
    try:
        source.execute(f"ALTER ROLE {database.user} SET search_path = first, public", admin=True)
        source.reopen()
        assert source.facts("t")["t"].schema == "first"
        assert source.full("t").column_names == ["a"]
    finally:
        source.execute(f"ALTER ROLE {database.user} RESET search_path", admin=True)


def test_s06_unreadable_tables_are_named_with_the_grant(source, database):
    source.execute(
        "CREATE SCHEMA closed AUTHORIZATION postgres; CREATE TABLE closed.t(id int); CREATE TABLE public.owned(id int, x int)",
        admin=True,
    )
    source.execute("CREATE TABLE public.half(id int, secret int); GRANT SELECT (id) ON public.half TO PUBLIC", admin=True)
    facts = source.facts("closed.t", "owned", "half")
    assert facts["closed.t"].problem
    assert 'GRANT USAGE ON SCHEMA "closed"' in facts["closed.t"].remedy
    assert facts["owned"].remedy == f'GRANT SELECT ON "public"."owned" TO "{database.user}"'
    assert facts["owned"].columns
    assert not facts["half"].problem
    assert [column.readable for column in facts["half"].columns] == [True, False]
    assert 'GRANT SELECT ("secret")' in facts["half"].grants[0]
    assert {"closed.t", "public.owned", "public.half"} <= set(source.session.inspect([]).tables)


def test_rows_that_policies_hide_are_announced(source, database):
    """Neither the read nor a count would ever tell: the server leaves them out of both."""
    source.execute(
        "CREATE TABLE tenants(id int); ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY own ON tenants USING (id = 1); CREATE TABLE plain(id int)"
    )
    assert "row level security" not in " ".join(source.facts("tenants")["tenants"].notes)  # the owner is above its own policies
    source.execute("ALTER TABLE tenants FORCE ROW LEVEL SECURITY")
    facts = source.facts("tenants", "plain")
    assert "row level security" in " ".join(facts["tenants"].notes)
    assert "row level security" not in " ".join(facts["plain"].notes)


def test_a_materialized_view_that_was_never_filled_cannot_be_read(source):
    source.execute(
        "CREATE MATERIALIZED VIEW bare AS SELECT 1 AS id WITH NO DATA; CREATE MATERIALIZED VIEW full_ AS SELECT 1 AS id"
    )
    facts = source.facts("bare", "full_")
    assert "never filled" in facts["bare"].problem
    assert (facts["bare"].kind, facts["bare"].problem_class) == (RelationKind.MATERIALIZED_VIEW, "missing")
    assert facts["bare"].remedy == 'REFRESH MATERIALIZED VIEW "public"."bare"'
    assert (facts["full_"].problem, facts["full_"].kind) == ("", RelationKind.MATERIALIZED_VIEW)
    source.execute("REFRESH MATERIALIZED VIEW bare")
    assert not source.facts("bare")["bare"].problem


def test_a_role_without_statistics_rights_says_unknown_not_idle(source, database):
    server = source.session.probe()
    assert server.active_sessions is None
    assert server.oldest_transaction_seconds is None
    assert server.grants == (f"GRANT pg_read_all_stats TO {database.user}",)
    assert server.database == database.name
    assert server.used_connections >= 1
    assert server.role is Role.PRIMARY


def test_queries_are_explained_not_run(source):
    source.execute(
        "CREATE TABLE t(id int PRIMARY KEY, v text, n numeric(10,2)); "
        "INSERT INTO t SELECT g, 'x', 1 FROM generate_series(1, 5000) g; ANALYZE t"
    )
    items = [
        InspectItem(name="good", query="SELECT id, n, v || '%' AS w FROM t WHERE id > 5 -- all", columns=("id", "w")),
        InspectItem(name="bad", query="SELECT nope FROM t"),
        InspectItem(name="writes", query="DELETE FROM t RETURNING id"),
        InspectItem(name="two", query="SELECT 1; SELECT 2"),
        InspectItem(name="t"),
    ]
    tables = source.session.inspect(items).tables
    good = tables["good"]
    assert [(c.name, c.source_type) for c in good.columns] == [("id", "integer"), ("n", "numeric(10,2)"), ("w", "text")]
    assert good.rows[0].value > 4000
    assert good.scan_bytes.value > 100_000
    assert good.index_for_range == {"id": True, "w": False}
    assert "nope" in tables["bad"].problem
    assert tables["writes"].problem
    assert "more than one statement" in tables["two"].problem
    assert not tables["t"].problem


def test_views_have_the_planners_guess_labelled(source):
    source.execute(
        "CREATE TABLE t(id int PRIMARY KEY, v text); INSERT INTO t SELECT g, 'x' FROM generate_series(1, 5000) g; ANALYZE t"
    )
    source.execute("CREATE VIEW w AS SELECT id, v FROM t; CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
    view = source.facts("w", columns=("id",))["w"]
    assert view.kind is RelationKind.VIEW
    assert view.rows[0].signal == "view_rows_guess"
    assert view.index_for_range == {"id": True}
    assert source.facts("m")["m"].kind is RelationKind.MATERIALIZED_VIEW
    assert source.full("w").num_rows == source.full("m").num_rows == 5000


@pytest.mark.slow
def test_the_limit_with_the_least_room_is_the_one_that_counts(source, database):
    everywhere = source.session.probe().max_connections
    source.execute(f'ALTER DATABASE "{database.name}" CONNECTION LIMIT 7', admin=True)
    server = source.session.probe()
    assert (server.max_connections, server.free_connections) == (7, 7 - server.used_connections)
    assert 1 <= server.used_connections <= 3
    role = f"capped_{database.name}"
    source.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'pw' CONNECTION LIMIT 2", admin=True)
    try:
        session = connect(PostgresOptions(url=database.url_with(user=role, password="pw")))
        capped = session.probe()
        session.close()
    finally:
        source.execute(f"DROP ROLE {role}", admin=True)
    assert (capped.max_connections, capped.used_connections, capped.free_connections) == (2, 1, 1)
    source.execute(f'ALTER DATABASE "{database.name}" CONNECTION LIMIT -1', admin=True)
    assert source.session.probe().max_connections == everywhere > 7


def test_s01_s02_a_standby_knows_sizes_and_trusts_no_counters(postgres, postgres_standby_server):
    from .conftest import Source

    postgres.execute("CREATE TABLE t(id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 20000); ANALYZE t")
    postgres_standby_server.start()
    postgres_standby_server.catch_up()
    standby = postgres_standby_server.database(postgres.name)
    source = Source(standby)
    try:
        facts = source.session.inspect([InspectItem(name="t")])
        table = facts.tables["t"]
        assert facts.server.role is Role.STANDBY
        assert facts.server.replica_lag_seconds is not None
        assert facts.server.conflict_delay_seconds == 30
        assert facts.server.hot_standby_feedback is False
        assert table.rows[0].value == 20000
        assert (table.inserts, table.dead_rows, table.changes_since_statistics) == (None, None, None)
        assert "standby" in " ".join(table.notes)
        assert source.full("t").num_rows == 20000
        assert sum(part.num_rows for part in source.chunked("t", chunk_size=3000)) == 20000
    finally:
        source.session.close()


def test_s02_after_a_crash_zero_live_rows_is_not_empty(source):
    source.execute("CREATE TABLE t(id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 20000); ANALYZE t")
    source.execute("SELECT pg_stat_reset()", admin=True)
    rows = source.facts("t")["t"].rows
    assert rows[0].value == 20000


def test_a_query_that_takes_long_to_plan_is_read_without_an_estimate(source, monkeypatch):
    """The planner calls an immutable function while it plans."""
    monkeypatch.setattr("rivet_postgres.catalog.query.EXPLAIN_TIMEOUT_MS", 300)
    source.execute(
        "CREATE FUNCTION slow() RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3); RETURN 1; END'"
    )
    item = InspectItem(name="q", query="SELECT slow() AS a, 'x'::text AS b")
    facts = source.session.inspect([item]).tables["q"]
    assert [(column.name, column.source_type) for column in facts.columns] == [("a", "integer"), ("b", "text")]
    assert (facts.problem, facts.rows, facts.scan_bytes) == ("", (), None)
    assert facts.notes == ("no estimate: canceling statement due to statement timeout",)
    plain = source.session.inspect([InspectItem(name="q", query="SELECT 1 AS a")]).tables["q"]
    assert plain.rows[0].value == 1


def test_a_query_that_multiplies_costs_what_comes_out(source):
    source.execute("CREATE TABLE t(id int); INSERT INTO t SELECT generate_series(1, 2000); ANALYZE t")
    facts = source.session.inspect([InspectItem(name="q", query="SELECT a.id, b.id AS other FROM t a CROSS JOIN t b")]).tables[
        "q"
    ]
    assert facts.rows[0].value == 4_000_000
    assert facts.scan_bytes.value == 32_000_000
