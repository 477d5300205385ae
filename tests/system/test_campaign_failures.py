"""Campaigns on real servers when something goes wrong: shared causes, drops, restarts, signals, a second instance."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from datetime import datetime
from typing import Any

import pytest

from rivet_core.running import RunEvent
from rivet_core.running.retry import BASE_SECONDS
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.postgres_log import PostgresLog
from rivet_core.testing.proxy import FaultProxy
from tests.system.campaigns import Campaign, counts, fill, table, wait_for

SLOW = {"name": "slow", "query": "SELECT 1 AS a, pg_sleep(60)::text AS b"}


@pytest.mark.s3
def test_m01_a_destination_without_credentials_is_one_message_for_76_exports(
    shop: Campaign, postgres: PostgresDatabase, s3: Any
) -> None:
    exports = fill(postgres, 1)
    bucket = {"type": "s3", "bucket": s3.name, "endpoint": s3.endpoint, "access_key_id": "nobody", "secret_key_env": "NO_SUCH"}
    shop.config(*({**exports[0], "name": f"e{number}"} for number in range(76)), destination=bucket)
    outcome = shop.apply()
    assert counts(outcome) == {"not_started": 76}
    (cause,) = outcome.shared_causes
    assert "76 exports not started" in cause
    assert "NO_SUCH" in cause
    assert [event.data["message"] for event in shop.told("warning")] == [cause]


def test_m01_a_source_that_dies_under_way_is_asked_three_times_and_no_more(
    proxied: tuple[Campaign, FaultProxy], postgres: PostgresDatabase
) -> None:
    shop, proxy = proxied
    shop.config(*fill(postgres, 20), planning={"workers": 2}, defaults={"tuning": {"max_retries": 1, "retry_backoff_ms": 20}})

    def die(event: RunEvent) -> None:
        if event.kind == "export_finished" and len(shop.told("export_finished")) == 5:
            proxy.refuse()
            proxy.drop()

    outcome = shop.apply(then=die)
    found = counts(outcome)
    assert 5 <= found["done"] <= 6
    assert 3 <= found["failed"] <= 4
    assert found["not_started"] == 20 - found["done"] - found["failed"]
    (cause,) = outcome.shared_causes
    assert f"{found['not_started']} exports not started" in cause


def test_m09_drops_are_read_again_and_what_was_done_is_not(
    proxied: tuple[Campaign, FaultProxy], postgres: PostgresDatabase
) -> None:
    shop, proxy = proxied
    shop.config(*fill(postgres, 80), planning={"workers": 4})
    plan = shop.plan()

    def drop(event: RunEvent) -> None:
        if event.kind == "export_finished" and len(shop.told("export_finished")) in (10, 25, 40, 55, 70):
            proxy.drop()

    outcome = shop.apply(plan, drop)
    assert counts(outcome) == {"done": 80}
    assert all(export.rows == 20 for export in outcome.exports)
    assert 1 <= sum(export.retries for export in outcome.exports) == len(shop.told("retry")) <= 24
    log = postgres.log.mark()
    assert counts(shop.apply(plan)) == {"already_done": 80}
    assert not [sql for sql in log.statements() if "COPY" in sql]


def reconnects(log: PostgresLog) -> list[datetime]:
    """When each session of the product sent its first statement, as the server wrote it down."""
    line = re.compile(r"^(\S+ \S+) \S+ \[(\d+)\] user=[^,]*,db=[^,]*,app=rivet/", re.MULTILINE)
    first: dict[str, datetime] = {}
    for at, pid in line.findall(log.read_text()):
        first.setdefault(pid, datetime.fromisoformat(at))
    return list(first.values())


def test_m10_a_restart_under_thirty_workers_is_survived_with_retries_out_of_step(
    shop: Campaign, postgres: PostgresDatabase
) -> None:
    workers = 30
    slow = "SELECT g AS a, pg_sleep(0.2)::text AS b FROM generate_series(1, 40) g"
    shop.config(
        *({"name": f"q{number}", "query": slow} for number in range(workers)),
        planning={"workers": workers},
        source_groups={"g": {"max_connections": workers, "max_heavy": workers}},
    )
    log: list[PostgresLog] = []

    def restart(event: RunEvent) -> None:
        if event.kind == "export_started" and len(shop.told("export_started")) == workers:
            time.sleep(0.5)  # until all of them read
            log.append(postgres.log.mark())
            postgres.restart()

    outcome = shop.apply(then=restart)
    assert counts(outcome) == {"done": workers}, [export.error for export in outcome.exports if export.error]
    assert all(export.rows == 40 for export in outcome.exports)
    first = [event for event in shop.told("retry") if event.data["attempt"] == 1]
    assert len({event.export for event in first}) == len(first) >= workers * 0.8
    due = sorted(event.at.timestamp() + float(str(event.data["pause_seconds"])) for event in first)
    assert due[-1] - due[0] >= 0.5 * BASE_SECONDS
    # Not only the ends apart: no tenth of the base holds a third of them.
    crowd = max(sum(at <= other <= at + 0.1 * BASE_SECONDS for other in due) for at in due)
    assert crowd <= workers / 3
    seen = sorted(reconnects(log[0]))
    assert len(seen) >= workers * 0.8
    assert (seen[-1] - seen[0]).total_seconds() >= 0.5 * BASE_SECONDS


def test_m10_permanent_errors_are_not_tried_again(shop: Campaign, postgres: PostgresDatabase) -> None:
    exports = fill(postgres, 3)
    shop.config(*exports, {"name": "bad", "query": "SELECT 1 / (g - 5) AS a FROM generate_series(1, 9) g"})
    plan = shop.plan()
    postgres.execute("DROP TABLE t0")
    postgres.execute("ALTER TABLE t1 OWNER TO postgres", admin=True)
    outcome = shop.apply(plan)
    assert {export.name: export.status for export in outcome.exports} == {
        "t0": "failed",
        "t1": "failed",
        "t2": "done",
        "bad": "failed",
    }
    assert not shop.told("retry")
    assert outcome.exit_code == 1


def test_dependants_are_skipped_and_another_source_goes_on(shop: Campaign, postgres: PostgresDatabase) -> None:
    with closing(sqlite3.connect(shop.project.path / "crm.db")) as connection:
        connection.executescript("CREATE TABLE people (id INTEGER PRIMARY KEY); INSERT INTO people VALUES (1), (2);")
    fill(postgres, 2)
    shop.config(
        {**table("t0"), "source": "shop"},
        {**table("t1"), "source": "shop", "depends_on": ["t0"]},
        {"name": "people", "table": "people", "source": "crm"},
        {"name": "report", "table": "people", "source": "crm", "depends_on": ["t1"]},
        source=None,
        sources={"shop": {"type": "postgres", "url_env": "SHOP_URL"}, "crm": {"type": "sqlite", "path": "crm.db"}},
    )
    plan = shop.plan()
    postgres.execute("DROP TABLE t0")
    outcome = shop.apply(plan)
    by_name = {export.name: (export.status, export.reason) for export in outcome.exports}
    assert by_name["t0"][0] == "failed"
    assert by_name["t1"] == ("skipped", "skipped because of t0")
    assert by_name["people"][0] == "done"
    assert by_name["report"][0] == "skipped"


def test_m11_each_end_has_an_exit_code_of_its_own(shop: Campaign, postgres: PostgresDatabase) -> None:
    """All done, nothing left to do, some failed, a config that cannot be read; locked and interrupted stand in other tests."""
    run = shop.project.run
    shop.config(*fill(postgres, 2))
    run("plan", "-o", "plan.json").assert_done()
    assert run("apply", "plan.json", "--json").assert_done().json()["counts"]["done"] == 2
    assert run("apply", "plan.json", "--json").assert_done().json()["counts"]["already_done"] == 2
    shop.config(table("t0"), {"name": "bad", "query": "SELECT 1 / (g - 1) AS a FROM generate_series(1, 2) g"})
    assert run("run", "--json").assert_failed(1).json()["exit_code"] == 1
    shop.config({**table("t0"), "chunk_szie": 1000})
    run("run", "--json").assert_failed(2, "chunk_size")
    shop.config(table("t0"), source={"type": "postgres", "host": "127.0.0.1", "port": 1, "user": "u", "database": "d"})
    run("run", "--json").assert_failed(1, "127.0.0.1")


def test_m11_a_second_instance_is_busy_and_a_dead_one_is_named(shop: Campaign, postgres: PostgresDatabase) -> None:
    shop.config(SLOW, source_groups={"g": {"max_connections": 1}})
    plan = shop.plan_file()
    first = shop.project.start("apply", plan, "--events")
    wait_for(first, "export_started")
    began = time.monotonic()
    second = shop.project.run("apply", plan, "--json").assert_failed(6, f"process {first.pid}")
    assert time.monotonic() - began < 20
    assert second.json()["exit_code"] == 6
    first.kill()
    first.communicate()
    postgres.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name LIKE 'rivet/%'", admin=True
    )
    shop.config({**SLOW, "query": "SELECT 1 AS a"})
    third = shop.project.run("run").assert_done()
    assert f"took over the stale lease of process {first.pid}" in third.stderr
