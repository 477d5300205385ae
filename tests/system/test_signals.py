"""kill -9, SIGTERM, SIGHUP and Ctrl-C in the middle of a campaign, as PostgreSQL, MariaDB and their logs see it."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from rivet_core.artifact import read_plan
from rivet_core.testing.project import Project
from tests.system.campaigns import Campaign, parts, wait_for

ROWS, UNITS = 4000, 4
SECONDS_TO_GO = 5.0
CHUNKED = {"name": "orders", "mode": "chunked", "chunk_size": ROWS // UNITS, "tuning": {"throttle_ms": 700}}


@dataclass(frozen=True)
class Engine:
    """What differs between the two servers: how to fill a table, to sleep, to count sessions, to tell what reads."""

    kind: str
    numbers: str
    nap: str
    sessions: str
    reads: Callable[[str], bool]


ENGINES = {
    "postgres": Engine(
        kind="postgres",
        numbers=f"SELECT g, concat('note ', g) FROM generate_series(1, {ROWS}) g",
        nap="SELECT 1 AS a, pg_sleep({seconds})::text AS b",
        sessions="SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        reads=lambda sql: "COPY" in sql and '"orders"' in sql,
    ),
    "mysql": Engine(
        kind="mysql",
        numbers=f"SELECT seq, concat('note ', seq) FROM seq_1_to_{ROWS}",
        nap="SELECT id, sleep(id * {seconds}) AS b FROM one",
        sessions="SELECT count(*) FROM information_schema.processlist WHERE db = database() AND id <> connection_id()",
        reads=lambda sql: sql.startswith("SELECT") and "`orders`" in sql,
    ),
}


@dataclass(frozen=True)
class Shop:
    """A campaign over one of the servers: a chunked export, and one that sleeps in a single statement beside it."""

    engine: Engine
    database: Any
    campaign: Campaign

    def sessions(self) -> int:
        return int(self.database.execute(self.engine.sessions, admin=True)[0][0])


@pytest.fixture(params=sorted(ENGINES))
def beside(request: pytest.FixtureRequest, rivet: Project, monkeypatch: pytest.MonkeyPatch) -> Shop:
    engine = ENGINES[request.param]
    database = request.getfixturevalue(engine.kind)
    database.execute("CREATE TABLE orders (id bigint PRIMARY KEY, note varchar(40))")
    database.execute(f"INSERT INTO orders {engine.numbers}")
    database.execute("CREATE TABLE one (id int PRIMARY KEY)")
    database.execute("INSERT INTO one VALUES (1)")
    database.execute("ANALYZE orders" if engine.kind == "postgres" else "ANALYZE TABLE orders")
    campaign = Campaign(rivet, database.url, monkeypatch)
    campaign.config(
        {**CHUNKED, "table": "orders"},
        {"name": "slow", "query": engine.nap.format(seconds=12)},
        source={"type": engine.kind, "url_env": "SHOP_URL", "source_group": "g"},
        planning={"workers": 2},
    )
    return Shop(engine, database, campaign)


def unit_of(sql: str) -> int:
    """The unit that a statement reads, by its lower bound."""
    found = re.search(r"\bid[`\"] > '?(\d+)", sql)
    return 0 if found is None else int(found[1]) // (ROWS // UNITS)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
    ids=["TERM", "HUP", "INT", "KILL"],
)
def test_whatever_ends_it_resume_reads_only_what_is_missing(beside: Shop, number: signal.Signals, code: int) -> None:
    campaign, engine = beside.campaign, beside.engine
    plan = campaign.plan_file()
    process = campaign.project.start("apply", plan, "--events")
    wait_for(process, "unit_done", times=2)
    assert beside.sessions() >= 1
    process.send_signal(number)
    began = time.monotonic()
    if number != signal.SIGKILL:
        while beside.sessions() and time.monotonic() - began < SECONDS_TO_GO:
            time.sleep(0.05)
        assert beside.sessions() == 0
    process.communicate(timeout=60)
    assert process.returncode == code
    done = parts(campaign.project.path)
    assert 2 <= len(done) < UNITS

    log = beside.database.log.mark()
    (export,) = campaign.apply(read_plan(plan), resume=True, exports=("orders",)).exports
    assert (export.status, export.rows, export.resumed_units) == ("done", ROWS, len(done))
    asked = {unit_of(sql) for sql in log.statements() if engine.reads(sql)}
    missing = {unit for unit in range(UNITS) if not any(f"part-{unit:05d}-" in name for name in done)}
    assert asked == missing, [sql for sql in log.statements() if engine.reads(sql)]
    after = parts(campaign.project.path)
    assert len(after) == UNITS
    assert {name: after[name] for name in done} == done
