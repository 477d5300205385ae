"""The way of a wave: shown by the plan, written into the config, run by `rivet apply CONFIG` with a barrier behind it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project

NAMES = [f"t{number}" for number in range(30)]
"""Enough that none of them may outlast a wave, though none was measured."""
CONFIG = """\
# what we read at night
source: {source}
destination: {{type: local, path: out}}
planning: {{workers: 2, waves: 3}}   # three steps for the orchestrator
x-common: &common {{format: parquet}}
exports:
"""


def write(rivet: Project, source: str) -> None:
    lines = [f"  - <<: *common\n    name: {name}   # {name}\n    table: {name}\n" for name in NAMES]
    rivet.config(CONFIG.format(source=source) + "".join(lines))


def check_the_way(rivet: Project) -> None:
    before = (rivet.path / "rivet.yaml").read_text()
    plan = rivet.run("plan", "--write-waves", "--json").assert_done().json()
    waves = [set(wave["exports"]) for wave in plan["campaign"]["waves"]]
    assert len(waves) == 3
    after = (rivet.path / "rivet.yaml").read_text()
    kept = [line for line in after.splitlines() if not line.strip().startswith("wave: ")]
    assert kept == before.splitlines()
    said = rivet.run("apply", "rivet.yaml", "--events").assert_done()
    events = [json.loads(line) for line in said.stdout.splitlines()]
    running: set[str] = set()
    ran: list[set[str]] = []
    for event in events:
        if event["event"] == "export_started":
            if not running and (not ran or ran[-1] == waves[len(ran) - 1]):
                ran.append(set())
            running.add(event["export"])
            ran[-1].add(event["export"])
        elif event["event"] == "export_finished":
            running.discard(event["export"])
    assert ran == waves


def test_sqlite(rivet: Project) -> None:
    with closing(sqlite3.connect(rivet.path / "shop.db")) as database:
        for name in NAMES:
            database.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, v TEXT)")
            database.executemany(f"INSERT INTO {name} (v) VALUES (?)", [("x" * 100,)] * 500)
        database.commit()
    write(rivet, "{type: sqlite, path: shop.db}")
    check_the_way(rivet)


@pytest.mark.postgres
def test_postgres(rivet: Project, postgres: PostgresDatabase) -> None:
    for name in NAMES:
        postgres.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, v text)")
        postgres.execute(f"INSERT INTO {name} SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g")
    postgres.execute("ANALYZE")
    rivet.environ["SHOP_URL"] = postgres.url
    write(rivet, "{type: postgres, url_env: SHOP_URL}")
    check_the_way(rivet)
