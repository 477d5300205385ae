"""A campaign: failures stay where they belong, shared causes are said once, signals leave everything consistent."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from datetime import timedelta

import pytest

from rivet_core.api import SchedulingPolicy, SourceSpec
from rivet_core.builtin.sqlite.options import SqliteOptions
from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.plugins import PluginInfo, Registry, Status
from rivet_core.running.apply import ApplyOptions, apply_plan
from rivet_core.running.events import Events
from rivet_core.running.outcome import ALREADY_DONE, DONE, FAILED, NOT_STARTED, SKIPPED
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.plan_campaign import campaign_from_plan
from rivet_core.state import waiting

SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000000) SELECT i FROM n"


def statuses(outcome):
    return {export.name: export.status for export in outcome.exports}


def customers(name, **more):
    return {"name": name, "table": "customers", **more}


def test_one_failed_export_stops_no_other(shop):
    shop.config(customers("a"), {"name": "b", "table": "orders"}, customers("c"))
    plan = shop.plan()
    shop.sql("DROP TABLE orders")
    outcome = shop.apply(plan)
    assert statuses(outcome) == {"a": DONE, "b": FAILED, "c": DONE}
    assert outcome.exit_code == 1
    assert "orders" in outcome.exports[1].error["message"]


def test_dependants_of_a_failed_export_are_skipped(shop):
    shop.config(
        {"name": "a", "table": "orders"},
        customers("b", depends_on=["a"]),
        customers("c", depends_on=["b"]),
        customers("d"),
    )
    plan = shop.plan()
    shop.sql("DROP TABLE orders")
    outcome = shop.apply(plan)
    assert statuses(outcome) == {"a": FAILED, "b": SKIPPED, "c": SKIPPED, "d": DONE}
    assert outcome.exports[1].reason == "skipped because of a"


def test_dependants_of_what_could_not_be_planned_are_skipped(shop):
    shop.config(
        {"name": "a", "table": "not_there"},
        customers("b", depends_on=["a"]),
        customers("c", depends_on=["b"]),
        customers("d"),
    )
    plan = shop.plan()
    assert [job.name for job in campaign_from_plan(plan.model_dump(mode="json")).jobs] == ["b", "c", "d"]
    outcome = shop.apply(plan)
    assert statuses(outcome) == {"a": FAILED, "b": SKIPPED, "c": SKIPPED, "d": DONE}
    assert outcome.exports[1].reason == "skipped because of a"
    assert statuses(shop.apply(shop.plan(exports=("b", "c")))) == {"b": DONE, "c": DONE}


def test_a_dependency_runs_first(shop):
    shop.config(customers("a", depends_on=["c"]), customers("b", depends_on=["a"]), customers("c"))
    assert shop.apply(pool=3).order == ("c", "a", "b")


def test_m01_a_source_that_is_gone_is_one_message(shop):
    exports = [customers(f"e{number}") for number in range(8)]
    shop.config(
        *exports,
        {"name": "other", "source": "other", "table": "t"},
        source=None,
        sources={
            "shop": {"type": "sqlite", "path": "shop.db"},
            "other": {"type": "sqlite", "path": "other.db"},
        },
        defaults={"source": "shop"},
    )
    import sqlite3

    sqlite3.connect(shop.root / "other.db").executescript("CREATE TABLE t (a INTEGER)").connection.close()
    plan = shop.plan()
    shop.database.unlink()
    outcome = shop.apply(plan)
    assert {statuses(outcome)[f"e{number}"] for number in range(8)} == {NOT_STARTED}
    assert statuses(outcome)["other"] == DONE
    assert len(outcome.shared_causes) == 1
    assert "8 exports not started" in outcome.shared_causes[0]
    assert outcome.exit_code == 1


def test_m01_a_destination_that_cannot_be_written_is_one_message(shop):
    shop.config(*(customers(f"e{number}") for number in range(5)))
    (shop.root / "out").write_text("a file in the way")
    outcome = shop.apply()
    assert set(statuses(outcome).values()) == {NOT_STARTED}
    assert "out" in outcome.shared_causes[0]


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
"""


@pytest.mark.parametrize("left", [3, 0])
def test_o03_a_full_disk_stops_the_rest_and_moves_no_cursor(shop, left):
    shop.sql("CREATE TABLE big (id INTEGER PRIMARY KEY, data BLOB)")
    shop.sql("INSERT INTO big SELECT id, randomblob(4000) FROM orders")
    big = {"table": "big", "mode": "incremental", "cursor_column": "id"}
    shop.config(*({"name": f"e{number}", **big} for number in range(3 + left)), planning={"workers": 1})
    plan = shop.plan_file()
    done = subprocess.run(
        [sys.executable, "-c", FULL + shop.runner, str(plan), "{}"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stdout + done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    found = [export["status"] for export in outcome["exports"]]
    assert (found.count(FAILED), found.count(NOT_STARTED)) == (3, left)
    causes = outcome["shared_causes"]
    assert len(causes) == bool(left), "a cause that stopped nothing more is the failures' own"
    assert all("no space left" in cause and str(shop.root) in cause for cause in causes)
    assert not list((shop.root / "out").rglob("*_SUCCESS"))
    assert not [path for path in (shop.root / "out").rglob("*") if path.is_file()]
    with shop.state() as state:
        assert state.cursors() == {}


def wait_for(process, kind):
    while line := process.stdout.readline():
        if json.loads(line).get("event") == kind:
            return
    raise AssertionError(f"{kind} never came")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_signal_stops_cleanly(shop, number, code):
    shop.config({"name": "slow", "query": SLOW}, customers("later"), planning={"workers": 1, "policy": "fifo"})
    process = shop.start(shop.plan_file())
    wait_for(process, "export_started")
    time.sleep(0.5)
    process.send_signal(number)
    began = time.monotonic()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == code, output
    assert time.monotonic() - began < 20
    outcome = json.loads(output.splitlines()[-1])
    assert [export["status"] for export in outcome["exports"]] == [FAILED, NOT_STARTED]
    assert outcome["exports"][0]["error"]["code"] == "interrupted"
    assert not list((shop.root / "out").rglob("*part*"))
    with shop.state() as state:
        assert [run.status for run in state.histories()["slow"]] == ["killed"]
        assert state.leases.holders() == {}


def test_m11_two_at_once_one_is_busy(shop):
    shop.config({"name": "slow", "query": SLOW})
    plan = shop.plan_file()
    first = shop.start(plan)
    wait_for(first, "export_started")
    outcome = shop.apply()
    first.kill()
    first.communicate()
    assert outcome.exit_code == 6
    assert f"process {first.pid}" in outcome.exports[0].error["message"]


def test_m11_the_lease_of_a_killed_run_is_taken_over_and_named(shop):
    shop.config(customers("a"))
    plan = shop.plan_file()
    process = shop.start(plan, fault="before_current")
    process.communicate()
    assert shop.apply().exit_code == 0
    told = [event.data["message"] for event in shop.events if event.kind == "warning"]
    assert any(f"process {process.pid}" in message for message in told)


def test_fail_fast_starts_nothing_more(shop):
    shop.config({"name": "a", "table": "orders"}, customers("b"), planning={"workers": 1, "policy": "fifo", "fail_fast": True})
    plan = shop.plan()
    shop.sql("DROP TABLE orders")
    assert statuses(shop.apply(plan)) == {"a": FAILED, "b": NOT_STARTED}


def test_waves_are_barriers(shop):
    shop.config(*(customers(f"e{number}", wave=2 - number % 2) for number in range(6)))
    order = shop.apply().order
    assert set(order[:3]) == {"e1", "e3", "e5"}


def test_only_the_chosen_exports_run(shop):
    shop.config(customers("a"), customers("b"))
    assert statuses(shop.apply(exports=("b",))) == {"b": DONE}
    from rivet_core.errors import ConfigError

    with pytest.raises(ConfigError, match="no export x"):
        shop.apply(exports=("x",))


def test_what_always_fails_alike_starts_last(shop):
    shop.config({"name": "bad", "table": "orders"}, customers("a"), customers("b"), planning={"workers": 1, "policy": "fifo"})
    plan = shop.plan()
    shop.sql("ALTER TABLE orders RENAME TO orders_away")
    for _ in range(3):
        assert statuses(shop.apply(plan, exports=("bad",)))["bad"] == FAILED
    shop.sql("ALTER TABLE orders_away RENAME TO orders")
    assert shop.apply(shop.plan()).order == ("a", "b", "bad")


def test_the_journal_and_the_metrics_are_kept(shop):
    shop.config(customers("a"))
    outcome = shop.apply()
    with shop.state() as state:
        assert [event.kind for event in state.events(plan_id=outcome.plan_id)] == [
            "campaign_started",
            "export_finished",
            "campaign_finished",
        ]
        metric = state.metrics("a")[0]
    assert (metric.status, metric.rows) == ("succeeded", 100)
    assert metric.predicted_p50 is not None


def test_a_sink_that_fails_stops_no_export_and_is_heard_of_at_the_end(shop):
    shop.config(customers("a"), customers("b", depends_on=["a"]))
    plan = shop.plan()
    seen = []

    def broken(event):
        seen.append(event.kind)
        raise BrokenPipeError("nobody listens")

    with pytest.raises(BrokenPipeError):
        apply_plan(plan, shop.registry, ApplyOptions(), broken)
    assert seen.count("export_finished") == 2
    assert seen[-1] == "campaign_finished"
    assert {shop.apply(plan).exports[0].status} == {"already_done"}


class Watched(SqliteSession):
    """Tells when it is cancelled."""

    cancelled = threading.Event()

    def cancel(self):
        super().cancel()
        self.cancelled.set()


def connect_watched(options):
    return Watched(options.database())


def test_a_sink_that_blocks_does_not_keep_a_stop_from_the_source(shop):
    watched = SourceSpec(name="watched", summary="", options=SqliteOptions, connect=connect_watched)
    plugin = PluginInfo(
        name="watched", dist="rivet-watched", version="1.0", api=1, status=Status.OK, hooks={"rivet_sources": (watched,)}
    )
    shop.registry = Registry([*shop.registry.plugins, plugin])
    shop.config(
        {"name": "slow", "query": SLOW},
        {"name": "bad", "table": "orders"},
        customers("behind", depends_on=["bad"]),
        source={"type": "watched", "path": "shop.db"},
        planning={"workers": 2, "policy": "fifo"},
    )
    plan = shop.plan()
    shop.sql("DROP TABLE orders")
    Watched.cancelled.clear()
    blocked = []

    def sink(event):
        if event.kind == "export_skipped":
            os.kill(os.getpid(), signal.SIGINT)
            blocked.append(Watched.cancelled.wait(20))

    outcome = apply_plan(plan, shop.registry, ApplyOptions(), sink)
    assert blocked == [True]
    assert statuses(outcome) == {"bad": FAILED, "behind": SKIPPED, "slow": FAILED}
    assert outcome.exit_code == 130


def test_a_busy_sink_holds_up_one_thread_and_gets_every_event_in_order():
    free, seen = threading.Event(), []

    def sink(event):
        free.wait(20)
        seen.append(event.data["number"])

    events = Events(sink)
    first = threading.Thread(target=lambda: events.emit("warning", number=0), daemon=True)
    first.start()
    time.sleep(0.05)
    for number in range(1, 4):
        events.emit("warning", number=number)
    assert seen == []
    free.set()
    events.emit("campaign_finished", number=4)
    assert seen == [0, 1, 2, 3, 4]


class Counted(SqliteSession):
    """Keeps the names of the threads that read from it."""

    readers = set()

    def read(self, spec, unit):
        self.readers.add(threading.current_thread().name)
        return super().read(spec, unit)


def connect_counted(options):
    return Counted(options.database())


def test_a_suspect_is_alone_on_its_group_and_reads_no_wider_than_declared(shop):
    counted = SourceSpec(name="counted", summary="", options=SqliteOptions, connect=connect_counted)
    shop.registry = hooked(shop.registry, rivet_sources=(counted,))
    shop.config(
        {"name": "bad", "table": "orders", "mode": "chunked", "chunk_size": 50},
        source={"type": "counted", "path": "shop.db", "source_group": "g"},
        source_groups={"g": {"max_connections": 4}},
    )
    plan = shop.plan()
    shop.sql("ALTER TABLE orders RENAME TO orders_away")
    for _ in range(3):
        assert statuses(shop.apply(plan)) == {"bad": FAILED}
    shop.sql("ALTER TABLE orders_away RENAME TO orders")
    Counted.readers.clear()
    assert statuses(shop.apply(plan)) == {"bad": DONE}
    assert [name for name in Counted.readers if not name.startswith("rivet-worker")] == []


def hooked(registry, **hooks):
    """The registry with one more plugin."""
    plugin = PluginInfo(name="acme", dist="rivet-acme", version="1.0", api=1, status=Status.OK, hooks=hooks)
    return Registry([*registry.plugins, plugin])


def test_a_state_that_stays_locked_is_one_message_and_loses_nothing(shop, monkeypatch):
    monkeypatch.setattr(waiting, "BUSY_SECONDS", 1.0)
    monkeypatch.setattr(waiting, "HURRY_SECONDS", 0.2)
    shop.config(*(customers(f"e{number}") for number in range(30)), planning={"workers": 2, "policy": "fifo"})
    shop.apply(exports=("e0",))  # makes the state
    plan = shop.plan()
    path = shop.root / ".rivet" / "state.db"
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)) as holder:

        def sink(event):
            if event.kind == "export_finished" and not holder.in_transaction:
                holder.execute("BEGIN IMMEDIATE")

        began = time.monotonic()
        outcome = apply_plan(plan, shop.registry, ApplyOptions(), sink)
        assert time.monotonic() - began < 12
        holder.execute("ROLLBACK")
    found = Counter(export.status for export in outcome.exports)
    assert found[DONE] >= 1
    assert found[NOT_STARTED] >= 25
    assert outcome.exit_code == 1
    assert len(outcome.shared_causes) == 1
    assert "cannot write the state: database is locked" in outcome.shared_causes[0]
    assert outcome.warnings[-1].startswith("the journal of this run is not complete: cannot write the state")
    again = shop.apply(plan, resume=True)
    assert {export.status for export in again.exports} <= {DONE, ALREADY_DONE}
    for number in range(30):
        assert shop.rows(f"e{number}", "id") == shop.source_rows("SELECT id FROM customers")


def test_a_policy_that_misbehaves_is_named_by_the_plan_and_by_the_run(shop):
    def odd(state):
        raise ValueError("no idea")

    policy = SchedulingPolicy(name="odd", summary="", order=lambda jobs, capacities: [job.name for job in jobs], next=odd)
    shop.registry = hooked(shop.registry, rivet_scheduling_policies=(policy,))
    shop.config(customers("a"), customers("b"), planning={"policy": "odd"})
    plan = shop.plan()
    said = "policy odd: next raised ValueError: no idea"
    assert [hint for hint in plan.campaign.concurrency_hints if "odd" in hint] == [said]
    outcome = shop.apply(plan)
    assert outcome.exit_code == 0
    assert [warning for warning in outcome.warnings if "odd" in warning] == [said]
    assert said in [event.data["message"] for event in shop.events if event.kind == "warning"]


def test_a_bug_of_the_scheduler_is_an_outcome_and_no_silence(shop, monkeypatch, capfd):
    shop.config(customers("a"), customers("b"), customers("c"), planning={"workers": 2, "policy": "fifo"})
    plan = shop.plan()
    claims = []
    claim = Dispatcher.claim

    def broken(self, held=None):
        claims.append(1)
        if len(claims) > 1:
            raise KeyError("lost")
        return claim(self, held)

    monkeypatch.setattr(Dispatcher, "claim", broken)
    outcome = shop.apply(plan)
    assert sorted(statuses(outcome).values()) == [DONE, NOT_STARTED, NOT_STARTED]
    assert outcome.exit_code == 7
    assert "the scheduler: KeyError" in outcome.exports[2].reason
    assert "Traceback" not in capfd.readouterr().err


def test_what_force_went_over_is_recorded(shop):
    shop.config(customers("a"))
    plan = shop.plan()
    late = plan.expires_at + timedelta(hours=1)
    assert shop.apply(plan, force=True, now=late).forced == ("the plan is 25 h 00 min old: --force went on",)
    assert shop.apply(shop.plan(), force=True).forced == ()
