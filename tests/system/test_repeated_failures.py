"""M16: one export that can never succeed, nine small ones beside it, on a real server, run after run; and fail_fast there."""

from __future__ import annotations

import json
import re
import resource
import signal
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

from rivet_core.testing.postgres_database import PostgresDatabase
from tests.system.campaigns import Campaign, counts, fill, wait_for, wait_until

LIMIT = 256 << 20
GIANT = {"name": "giant", "query": f"SELECT repeat('x', {LIMIT} + 0 * g) AS b FROM generate_series(1, 2) g"}
"""Its length hangs on a row: a constant would be made while the query is planned, again and again."""
NINE = {f"t{number}" for number in range(9)}


def apply_within_limit(shop: Campaign, plan: Path) -> dict[str, Any]:
    """Apply in a process that may have 256 MB more than it starts with, and return the summary."""
    process = shop.project.start("apply", plan, "--events", "--summary-output", "summary.json")
    wait_for(process, "campaign_started")
    now = re.search(r"VmData:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert now is not None
    most = (int(now[1]) << 10) + LIMIT
    resource.prlimit(process.pid, resource.RLIMIT_DATA, (most, most))
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1, errors
    found: dict[str, Any] = json.loads((shop.project.path / "summary.json").read_text())
    return found


def statuses(summary: dict[str, Any]) -> dict[str, str]:
    return {export["name"]: export["status"] for export in summary["exports"]}


def test_m16_what_exhausts_the_memory_each_time_ends_up_last_and_alone(shop: Campaign, postgres: PostgresDatabase) -> None:
    shop.config(GIANT, *fill(postgres, 9), planning={"workers": 4, "policy": "fifo"})
    for run in range(1, 5):
        plan = shop.plan_file()
        hints = json.loads(plan.read_text())["campaign"]["concurrency_hints"]
        foretold = [hint for hint in hints if hint.startswith("giant failed alike")]
        summary = apply_within_limit(shop, plan)
        found = statuses(summary)
        assert found.pop("giant") == "failed"
        assert found == dict.fromkeys(NINE, "done"), summary
        assert [export["rows"] for export in summary["exports"]] == [0] + [20] * 9
        warned = [text for text in summary["warnings"] if text.startswith("giant failed alike in its last 3 runs (")]
        if run <= 3:
            assert (summary["order"][0], warned, foretold) == ("giant", [], [])
        else:
            assert (summary["order"][-1], len(warned)) == ("giant", 1)
            assert "starts last, alone on group g" in warned[0]
            assert foretold == warned, "the plan says what apply does"


def test_m16_what_takes_the_process_along_ends_up_behind_everything(shop: Campaign, postgres: PostgresDatabase) -> None:
    """Killed whenever the giant runs, as a host out of memory does it; `slow` happens to run beside it and is no worse."""
    giant = {"name": "giant", "query": "SELECT 1 AS a, pg_sleep(30)::text AS b"}
    slow = {"name": "slow", "query": "SELECT 1 AS a, pg_sleep(2)::text AS b"}
    shop.config(giant, slow, *fill(postgres, 9), planning={"workers": 2, "policy": "fifo"})
    for run in range(1, 6):
        known = runs(shop).keys()
        process = shop.project.start("apply", shop.plan_file(), "--events", "--stall-after", "0")
        events = [json.loads(line) for line in process.stdout or () if kills(shop, process, line, known, first=run < 4)]
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        ended = {event["export"] for event in events if event["event"] == "export_finished"}
        started = [event["export"] for event in events if event["event"] == "export_started"]
        if run < 4:
            assert not ended
        else:
            assert ended == (NINE if run == 4 else NINE | {"slow"})
            assert started[-1] == "giant"
            assert any(f"giant failed alike in its last {run - 1} runs" in str(event.get("message")) for event in events)


def kills(shop: Campaign, process: Any, line: str, known: Collection[str], *, first: bool) -> bool:
    """Kill the process while the giant runs: with `slow` beside it, or later when it is alone.

    Not before the state knows that they run: of a death before nobody could tell whose it was.
    """
    event = json.loads(line)
    if event["event"] == "export_started" and event["export"] == ("slow" if first else "giant"):
        wanted = {"giant", "slow"} if first else {"giant"}
        wait_until(lambda: wanted <= {name for run, name in runs(shop).items() if run not in known})
        process.kill()
    return True


def runs(shop: Campaign) -> dict[str, str]:
    """The exports of all runs that the state knows of, by run."""
    path = shop.project.path / ".rivet/state.db"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as state:
        return dict(state.execute("SELECT run_id, export FROM rivet_run").fetchall())


def test_fail_fast_starts_nothing_more_and_lets_what_runs_end(shop: Campaign, postgres: PostgresDatabase) -> None:
    exports = fill(postgres, 6)
    bad = {"name": "bad", "query": "SELECT 1 / (g - 1) AS a FROM generate_series(1, 9) g"}
    slow = {"name": "slow", "query": "SELECT 1 AS a, pg_sleep(1)::text AS b"}
    shop.config(slow, bad, *exports, planning={"workers": 2, "policy": "fifo", "fail_fast": True})
    outcome = shop.apply()
    assert counts(outcome) == {"done": 1, "failed": 1, "not_started": 6}
    reasons = {export.name: export.reason for export in outcome.exports if export.status == "not_started"}
    assert reasons == {export["name"]: "not started: fail_fast: bad failed" for export in exports}
    assert outcome.exit_code == 1
    again = shop.apply(exports=tuple(export["name"] for export in exports))
    assert counts(again) == {"done": 6}


def test_fail_fast_counts_a_source_that_cannot_be_opened(shop: Campaign, postgres: PostgresDatabase) -> None:
    exports = [{**export, "source": "shop"} for export in fill(postgres, 2)]
    gone = {"type": "postgres", "host": "127.0.0.1", "port": 1, "user": "u", "database": "d"}
    shop.config(
        *exports,
        {"name": "x", "source": "gone", "query": "SELECT 1 AS a", "columns": {"a": "int32"}},
        source=None,
        sources={"shop": {"type": "postgres", "url_env": "SHOP_URL"}, "gone": gone},
        planning={"fail_fast": True},
    )
    outcome = shop.apply()
    assert "done" not in counts(outcome)
    assert outcome.exit_code == 1


def test_fail_fast_counts_what_cannot_even_start(shop: Campaign, postgres: PostgresDatabase) -> None:
    shop.config(*fill(postgres, 3), planning={"workers": 1, "policy": "fifo", "fail_fast": True})
    plan = shop.plan()
    postgres.execute("DROP TABLE t1")
    postgres.execute("CREATE TABLE t1 (other text)")
    outcome = shop.apply(plan)
    assert {export.name: export.status for export in outcome.exports} == {
        "t0": "not_started",
        "t1": "failed",
        "t2": "not_started",
    }
