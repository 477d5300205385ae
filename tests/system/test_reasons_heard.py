"""Every reason code is heard from a real server, by way of the catalog, the state and the plan file: none of them waits for a
fact that no source delivers.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from rivet_core.planning.taxonomy import TAXONOMY
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.standby import StandbyServer
from tests.system.campaigns import Campaign, table

ROWS = 20_000
SPANS = timedelta(hours=3)

AT_FIRST = (
    "RV001 RV002 RV102 RV104 RV106 RV107 RV109 RV110 RV111 RV201 RV203 RV204 RV205 RV206 RV301 RV302 RV303 RV304 RV305 RV306"
    " RV307 RV308 RV309 RV310 RV503 RV504 RV505 RV510 RV606 RV702 RV704 RV802 RV803 RV804 RV891 RV901 RV902"
)
AFTER_A_RUN = "RV105 RV501 RV603 RV604 RV806"
AFTER_MANY = "RV101 RV401 RV402 RV403 RV404 RV502 RV601 RV602 RV605 RV607"
IN_NEED = "RV701 RV703 RV708"
ON_A_STANDBY = "RV705 RV706 RV805"
ELSEWHERE = {
    "RV103": "every built-in source that tells rows tells bytes too; a folder of CSV files does not (examples/rivet_csvdir)",
    "RV202": "units follow the rows in every built-in source",
    "RV707": "a transaction would have to be open for half an hour",
    "RV801": "every built-in source tells the size of what it may read",
    "RV890": "tests/system/test_hostile_plugins.py",
}


def test_every_code_is_heard_somewhere() -> None:
    named = [*AT_FIRST.split(), *AFTER_A_RUN.split(), *AFTER_MANY.split(), *IN_NEED.split(), *ON_A_STANDBY.split(), *ELSEWHERE]
    assert sorted(named) == list(TAXONOMY)


def series(columns: str, rows: int = ROWS) -> str:
    return f"SELECT {columns} FROM generate_series(1, {rows}) g"


TABLES = (
    "CREATE TABLE plain(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text)",
    f"INSERT INTO plain (v) {series('md5(g::text)')}",
    "CREATE TABLE wide(id int PRIMARY KEY, v text)",
    "ALTER TABLE wide ALTER v SET STORAGE EXTERNAL",
    f"INSERT INTO wide {series('g, repeat(md5(g::text), 300)', 500)}",
    "CREATE TABLE parted(id int, at date) PARTITION BY RANGE (id)",
    "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000)",
    "CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (1000) TO (9000)",
    f"INSERT INTO parted {series('g, current_date', 2000)}",
    "CREATE TABLE loose(id int PRIMARY KEY, updated_at timestamp(0), day date, born timestamp(0), w text)",
    f"INSERT INTO loose {series('g, now() - random() * LONG, current_date, now(), repeat(md5(g::text), 8)')}".replace(
        "LONG", "interval '900 days'"
    ),
    "UPDATE loose SET updated_at = NULL WHERE id % 10 = 0",
    "CREATE TABLE dead(id int PRIMARY KEY, v int) WITH (autovacuum_enabled = false)",
    f"INSERT INTO dead {series('g, g')}",
    "CREATE TABLE heap(v text)",
    "INSERT INTO heap VALUES ('a')",
    "CREATE TABLE random_key(id uuid PRIMARY KEY DEFAULT gen_random_uuid(), v int)",
    f"INSERT INTO random_key (v) {series('g')}",
    "CREATE TABLE zero AS SELECT 0 AS v",
    "ANALYZE",
    "DELETE FROM dead WHERE id % 2 = 0",
    "CREATE TABLE fresh(id int PRIMARY KEY)",
    "INSERT INTO fresh VALUES (1)",
)
VALUE = {"tier": "high", "consumers": ["bi"], "freshness": "1h", "deadline": "23:59"}
CHUNKS = {
    "name": "chunks",
    "table": "public.plain",
    "mode": "chunked",
    "chunk_size": 1000,
    "parallel": 4,
    "parallel_safe": False,
}
EXPORTS: tuple[dict[str, Any], ...] = (
    table("plain", mode="incremental", cursor_column="id", reconcile_required=True, value=VALUE),
    table("wide"),
    table("parted"),
    {"name": "query", "query": "SELECT v, count(*) AS n FROM plain GROUP BY v"},
    table("loose", mode="incremental", cursor_column="updated_at"),
    {"name": "coarse", "table": "public.loose", "mode": "incremental", "cursor_column": "day"},
    {
        "name": "either",
        "table": "public.loose",
        "mode": "incremental",
        "incremental_cursor_mode": "coalesce",
        "cursor_column": "updated_at",
        "cursor_fallback_column": "born",
    },
    {"name": "window", "table": "public.loose", "mode": "time_window", "time_column": "born", "days_window": 3},
    table("dead"),
    table("heap"),
    table("random_key", mode="incremental", cursor_column="id"),
    CHUNKS,
    table("fresh"),
    {"name": "failing", "query": "SELECT 1 / v AS a FROM zero"},
)


def heard(shop: Campaign) -> set[str]:
    """Plan, and return every code in the plan."""
    plan = shop.project.run("plan", "--json", "--refresh").json()
    broken = [(export["name"], export["error"]) for export in plan["exports"] if export["status"] != "planned"]
    assert not broken
    codes = {reason["code"] for export in plan["exports"] for reason in export["reasons"]}
    return codes | {warning["code"] for warning in plan["campaign"]["source_group_warnings"]}


def missing(codes: str, found: set[str]) -> list[str]:
    return sorted(set(codes.split()) - found)


def run(shop: Campaign, times: int = 1) -> None:
    for _ in range(times):
        shop.project.run("run", "--json").assert_failed(1, "division by zero")


def test_codes_of_tables_runs_and_writes(shop: Campaign, postgres: PostgresDatabase) -> None:
    for statement in TABLES:
        postgres.execute(statement)
    shop.config(*EXPORTS)
    assert not missing(AT_FIRST, heard(shop))
    run(shop)
    age(shop)
    assert not missing(AFTER_A_RUN, heard(shop))
    run(shop, 4)
    age(shop)
    for statement in (
        "ALTER TABLE heap ADD COLUMN n int",
        "UPDATE loose SET w = 'y'",
        "DELETE FROM plain WHERE id % 3 = 0",
        "SELECT pg_stat_force_next_flush()",
    ):
        postgres.execute(statement)
    # What takes minutes or broken lines on a real network, as the state keeps it.
    change(shop, "UPDATE rivet_run SET retries = 1 WHERE export = 'wide'")
    change(shop, "UPDATE rivet_run SET seconds = 60 WHERE export = 'dead'")
    newest = "SELECT max(run_id) FROM rivet_run WHERE export = 'fresh'"
    change(shop, f"UPDATE rivet_run SET seconds = CASE run_id WHEN ({newest}) THEN 21 ELSE 1 END WHERE export = 'fresh'")
    assert not missing(AFTER_MANY, heard(shop))


def change(shop: Campaign, statement: str) -> None:
    with closing(sqlite3.connect(shop.project.path / ".rivet/state.db")) as state, state:
        assert state.execute(statement).rowcount >= 3


def age(shop: Campaign) -> None:
    """Make everything that the state knows so much older."""
    with closing(sqlite3.connect(shop.project.path / ".rivet/state.db")) as state, state:
        for name, column in (("rivet_snapshot", "observed_at"), ("rivet_run", "started_at"), ("rivet_run", "finished_at")):
            for row, text in state.execute(f"SELECT rowid, {column} FROM {name} WHERE {column} IS NOT NULL").fetchall():
                state.execute(f"UPDATE {name} SET {column} = ? WHERE rowid = ?", (earlier(text), row))
        for row, text in state.execute("SELECT rowid, data FROM rivet_snapshot").fetchall():
            data = json.loads(text)
            changed = json.dumps({**data, "seen_at": earlier(data["seen_at"])})
            state.execute("UPDATE rivet_snapshot SET data = ? WHERE rowid = ?", (changed, row))


def earlier(text: str) -> str:
    return (datetime.fromisoformat(text) - SPANS).isoformat(sep=text[10], timespec="microseconds")


def test_codes_of_a_group_in_need(shop: Campaign, postgres: PostgresDatabase) -> None:
    """The catalog says that two tables are huge, and the database lets few in."""
    for name in ("huge", "giant"):
        postgres.execute(f"CREATE TABLE {name} AS SELECT g AS id FROM generate_series(1, 1000) g; ANALYZE {name}")
    postgres.execute("UPDATE pg_class SET relpages = 40000000, reltuples = 1e9 WHERE relname = 'huge'", admin=True)
    postgres.execute("UPDATE pg_class SET relpages = 20000000, reltuples = 5e8 WHERE relname = 'giant'", admin=True)
    postgres.execute(f'ALTER DATABASE "{postgres.name}" CONNECTION LIMIT 3', admin=True)
    shop.config(
        table("huge", heavy=True),
        table("giant", heavy=True, mode="chunked", parallel=4),
        source_groups={"g": {"max_connections": 4, "max_heavy": 2}},
    )
    assert not missing(IN_NEED, heard(shop))


@pytest.fixture
def hasty(postgres: PostgresDatabase, postgres_standby_server: StandbyServer) -> Iterator[PostgresDatabase]:
    """The database on a standby that cancels reads at once and has stopped to follow."""
    postgres.execute("CREATE TABLE t AS SELECT g AS id, repeat('x', 300) AS v FROM generate_series(1, 30000) g; ANALYZE t")
    postgres_standby_server.start()
    postgres_standby_server.catch_up()
    admin = postgres_standby_server.admin()
    admin.execute("ALTER SYSTEM SET max_standby_streaming_delay = 0")
    admin.execute("SELECT pg_reload_conf()")
    postgres_standby_server.pause()
    try:
        postgres.execute("INSERT INTO t SELECT g FROM generate_series(1, 100) g")
        yield postgres_standby_server.database(postgres.name)
    finally:
        postgres_standby_server.resume()
        admin.execute("ALTER SYSTEM RESET max_standby_streaming_delay")
        admin.execute("SELECT pg_reload_conf()")


def test_codes_of_a_standby(shop: Campaign, hasty: PostgresDatabase) -> None:
    shop.project.environ["SHOP_URL"] = hasty.url
    shop.config(table("t", value={"freshness": "1ms"}))
    assert not missing(ON_A_STANDBY, heard(shop))
