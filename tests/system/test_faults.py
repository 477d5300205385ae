"""Broken connections, cancelled statements, restarted servers: an export goes on from its unit or fails by name.

What it never does is write a short file, or leave a transaction open.
"""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rivet_core.running import CampaignOutcome, RunEvent
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project
from rivet_core.testing.proxy import FaultProxy
from rivet_core.testing.standby import StandbyServer
from tests.system.campaigns import dataset, wait_for, wait_until
from tests.system.either import Shop

ROWS = 8000
ALL = list(range(1, ROWS + 1))
BYTES = 1_200_000
"""About what the server sends for all rows."""
BRIEF = {"max_retries": 3, "retry_backoff_ms": 5, "page_seconds": 0.05, "pause_share": 0}
READERS = {"postgres": ("pgcopy", "adbc"), "mysql": ("auto", "rows")}


def filled(shop: Shop, key: str = "PRIMARY KEY") -> None:
    shop.sql(f"CREATE TABLE t(id int {key}, v varchar(200))")
    shop.sql(f"INSERT INTO t {shop.series(ROWS, 'n, ' + chr(39) + 'x' * 130 + chr(39))}")


def configure(shop: Shop, engine: str, **export: Any) -> None:
    source = {"type": shop.kind, "url_env": "SHOP_URL", "source_group": "g", "engine": engine}
    shop.config({"name": "t", "table": "t", "tuning": BRIEF, **export}, source=source)


def ids(shop: Shop) -> list[int]:
    return sorted(dataset(shop, "t").column("id").to_pylist())


def whole_or_absent(shop: Shop, outcome: CampaignOutcome) -> None:
    """Either every row is there once, or nothing is and the error says why."""
    (export,) = outcome.exports
    if export.status == "done":
        assert ids(shop) == ALL
    else:
        assert export.error["message"]
        assert not shop.project.files("out/t/_rivet/current.json")


@pytest.mark.parametrize("reader", [0, 1])
@pytest.mark.parametrize("shape", ["pages", "units", "one statement"])
def test_a_stream_cut_at_any_byte_is_never_a_short_file(any_proxied: tuple[Shop, FaultProxy], reader: int, shape: str) -> None:
    shop, proxy = any_proxied
    filled(shop, "NOT NULL" if shape == "one statement" else "PRIMARY KEY")
    more = {"mode": "chunked", "chunk_count": 4, "parallel": 2} if shape == "units" else {}
    configure(shop, READERS[shop.kind][reader], **more)
    plan = shop.plan()
    retries = 0

    def breaking(fault: Callable[[int], None], after: int) -> Callable[[RunEvent], None]:
        def then(event: RunEvent) -> None:
            nonlocal retries
            if event.kind == "export_started":
                fault(after)
            elif event.kind == "retry":
                retries += 1
                proxy.heal()

        return then

    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
    @given(after=st.integers(0, BYTES), reset=st.booleans())
    @example(after=0, reset=False)
    @example(after=BYTES // 2, reset=True)
    @example(after=ROWS * 140 - 1, reset=False)
    def holds(after: int, reset: bool) -> None:
        forget(shop)
        whole_or_absent(shop, shop.apply(plan, breaking(proxy.reset if reset else proxy.cut, after)))
        proxy.heal()
        outcome = shop.apply(plan, resume=True)
        assert outcome.exports[0].status in ("done", "already_done"), outcome.exports[0].error
        assert ids(shop) == ALL

    holds()
    assert retries > 2, "nothing was ever cut"


def forget(shop: Shop) -> None:
    """Remove what earlier runs wrote and remember."""
    for name in ("out", ".rivet"):
        shutil.rmtree(shop.project.path / name, ignore_errors=True)


@pytest.mark.parametrize("reader", [0, 1])
def test_a_statement_timeout_in_the_middle_fails_by_name(any_shop: Shop, reader: int) -> None:
    filled(any_shop)
    sleep = "pg_sleep(0.002)::text" if any_shop.kind == "postgres" else "SLEEP(0.002)"
    any_shop.config(
        {"name": "t", "query": f"SELECT id, {sleep} AS s FROM t", "tuning": {**BRIEF, "statement_timeout_s": 1}},
        source={"type": any_shop.kind, "url_env": "SHOP_URL", "source_group": "g", "engine": READERS[any_shop.kind][reader]},
    )
    outcome = any_shop.apply()
    (export,) = outcome.exports
    assert export.status == "failed"
    assert "timeout" in str(export.error).lower()
    assert any_shop.told("retry") == []
    assert not any_shop.project.files("out/t/_rivet/current.json")
    assert open_transactions(any_shop) == []


def test_a_restarted_server_is_read_on_from_the_unit_that_broke(any_shop: Shop) -> None:
    filled(any_shop)
    configure(any_shop, "auto", mode="chunked", chunk_count=4, tuning={**BRIEF, "max_retries": 8, "retry_backoff_ms": 300})
    restarted: list[int] = []

    def restart(event: RunEvent) -> None:
        if event.kind == "unit_done" and not restarted:
            restarted.append(event.data["unit"])
            any_shop.database.server.restart()

    outcome = any_shop.apply(None, restart)
    assert outcome.exports[0].status == "done", outcome.exports[0].error
    assert ids(any_shop) == ALL
    done = [event.data["unit"] for event in any_shop.told("unit_done")]
    assert sorted(done) == [0, 1, 2, 3], "a unit that was done is not read again"


def test_a_standby_that_must_replay_lets_an_export_go_on_or_fail_by_name(
    rivet: Project,
    postgres: PostgresDatabase,
    postgres_standby: PostgresDatabase,
    postgres_standby_server: StandbyServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    primary = Shop(rivet, postgres, "postgres", monkeypatch)
    filled(primary)
    admin = postgres_standby_server.admin()
    admin.execute("ALTER SYSTEM SET max_standby_streaming_delay = '50ms'")
    admin.execute("SELECT pg_reload_conf()")
    over = threading.Event()

    def change() -> None:
        while not over.wait(0.05):
            postgres.execute("UPDATE t SET v = v WHERE id % 10 = 0")
            postgres.execute("VACUUM t")

    try:
        postgres_standby_server.catch_up()
        shop = Shop(rivet, postgres_standby, "postgres", monkeypatch)
        slow = {"name": "t", "query": "SELECT id, pg_sleep(0.0005)::text AS s FROM t", "tuning": BRIEF}
        shop.config(slow, {"name": "paged", "table": "t", "mode": "chunked", "chunk_count": 3, "tuning": BRIEF})
        plan = shop.plan()
        thread = threading.Thread(target=change)
        thread.start()
        outcome = shop.apply(plan)
        over.set()
        thread.join()
        one, paged = outcome.exports
        assert paged.status == "done", paged.error
        assert sorted(dataset(shop, "paged").column("id").to_pylist()) == ALL
        assert one.status == "failed"
        assert "conflict with recovery" in one.error["message"]
        assert "max_standby_streaming_delay" in one.error["hint"]
        assert "hot_standby_feedback" in one.error["hint"]
        assert not shop.project.files("out/t/_rivet/current.json")
    finally:
        over.set()
        admin.execute("ALTER SYSTEM RESET max_standby_streaming_delay")
        admin.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize("snapshot", ["per_unit", "consistent"])
@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("end", ["success", "failure"])
def test_nothing_stays_open_whichever_way_an_export_ends(any_shop: Shop, snapshot: str, parallel: int, end: str) -> None:
    filled(any_shop)
    any_shop.export(mode="chunked", chunk_count=4, parallel=parallel, snapshot=snapshot, tuning=BRIEF)
    plan = any_shop.plan()
    seen: list[list[Any]] = []

    def then(event: RunEvent) -> None:
        if event.kind == "export_finished" or event.kind == "export_failed":
            seen.append(open_transactions(any_shop))

    if end == "failure":
        any_shop.sql("ALTER TABLE t DROP COLUMN v")
    outcome = any_shop.apply(plan, then)
    assert outcome.exports[0].status == ("done" if end == "success" else "failed")
    assert seen == [[]], "a transaction was open when the export had ended"
    wait_until(lambda: open_transactions(any_shop) == [])


@pytest.mark.parametrize("parallel", [1, 2])
def test_ctrl_c_lets_a_shared_snapshot_go(
    rivet: Project, postgres: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, parallel: int
) -> None:
    one = Shop(rivet, postgres, "postgres", monkeypatch)
    filled(one)
    tuning = {**BRIEF, "throttle_ms": 200}
    one.export(mode="chunked", chunk_count=40, parallel=parallel, snapshot="consistent", tuning=tuning)
    process = one.project.start("run", "--events")
    wait_for(process, "unit_done", 2)
    assert len(open_transactions(one)) >= 1
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    wait_until(lambda: one.sessions() == [])


def test_c06_a_table_without_a_key_is_read_in_units_over_one_connection(
    rivet: Project, postgres: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Shop(rivet, postgres, "postgres", monkeypatch)
    filled(one, "NOT NULL")
    one.sql("INSERT INTO t SELECT 1, 'the same' FROM generate_series(1, 3)", "ANALYZE t")
    one.export(mode="chunked", chunk_count=5, groups={"max_connections": 1})
    plan = one.plan()
    assert (len(plan.exports[0].units), plan.exports[0].spec["snapshot"]) == (5, "consistent")
    most: list[int] = []

    def change(event: RunEvent) -> None:
        if event.kind == "unit_done":
            one.sql(
                "UPDATE t SET v = v || 'y' WHERE id % 3 = 0", "INSERT INTO t VALUES (0, 'new')", "DELETE FROM t WHERE id = 7"
            )
            most.append(len(one.sessions()))

    outcome = one.apply(plan, change)
    assert outcome.exports[0].status == "done", outcome.exports[0].error
    assert ids(one) == sorted([*ALL, 1, 1, 1])
    assert most == [1] * 5
    wait_until(lambda: one.sessions() == [])


def open_transactions(shop: Shop) -> list[Any]:
    """Return our sessions that are in a transaction."""
    return shop.sessions("AND xact_start IS NOT NULL" if shop.kind == "postgres" else "")
