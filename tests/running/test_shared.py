"""A split export: its shares are jobs like others, and together one run, one dataset, one outcome."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter

import pytest

from rivet_core.api import SchedulingPolicy, SourceSpec
from rivet_core.artifact.canonical import seal
from rivet_core.builtin.sqlite.options import SqliteOptions
from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.errors import DestinationError, SourceError
from rivet_core.facts import Job
from rivet_core.running import ApplyOptions, apply_plan
from rivet_core.running.outcome import ALREADY_DONE, DONE, FAILED, NOT_STARTED, SKIPPED
from rivet_core.running.shared import SharedRun
from rivet_core.running.task import tasks_from_plan
from rivet_core.scheduling.shares import SplitIn, with_shares
from rivet_core.state import open_state
from tests.running.test_executor import hooked, statuses

UNITS = 12
ORDERS = {"name": "orders", "table": "orders", "mode": "chunked", "chunk_size": 25}


class Played(SqliteSession):
    """A source that tells when it reads which unit, waits a moment, and may fail at one."""

    lock = threading.Lock()
    reading: Counter[str] = Counter()
    most: Counter[str] = Counter()
    seen: list[int] = []
    pause = 0.0
    failing: dict[int, SourceError] = {}
    before = None
    cancelled = threading.Event()

    def cancel(self):
        super().cancel()
        self.cancelled.set()

    def read(self, spec, unit):
        if Played.before is not None:
            Played.before(spec, unit)
        with self.lock:
            self.seen.append(unit.index)
            self.reading[spec.table] += 1
            self.most[spec.table] = max(self.most[spec.table], self.reading[spec.table])
        time.sleep(self.pause)
        with self.lock:
            self.reading[spec.table] -= 1
        if spec.table == "orders" and unit.index in self.failing:
            raise self.failing[unit.index]
        return super().read(spec, unit)


@pytest.fixture
def played(shop):
    source = SourceSpec(name="played", summary="", options=SqliteOptions, connect=lambda options: Played(options.database()))
    shop.registry = hooked(shop.registry, rivet_sources=(source,))
    for kept in (Played.reading, Played.most, Played.seen, Played.failing):
        kept.clear()
    Played.pause, Played.before = 0.0, None
    Played.cancelled.clear()
    return shop


def config(shop, *more, kind="played", slots=4, **planning):
    shop.config(
        ORDERS,
        *more,
        source={"type": kind, "path": "shop.db", "source_group": "g"},
        source_groups={"g": {"max_connections": slots}},
        planning={"workers": 4, "policy": "bottleneck", **planning},
    )


def split(plan, shares, name="orders"):
    """The plan with the units of one export in so many entries."""
    exports = tuple(
        export.model_copy(update={"split_in": shares}) if export.name == name else export for export in plan.exports
    )
    return seal(plan.model_copy(update={"exports": exports}))


def interrupt():
    """Ctrl-C, and what follows has begun."""
    os.kill(os.getpid(), signal.SIGINT)
    assert Played.cancelled.wait(20)


def complete(shop):
    assert shop.rows("orders", "id", "total") == shop.source_rows("SELECT id, total FROM orders")


def kinds(shop, *wanted):
    return [event.kind for event in shop.events if event.kind in wanted]


def test_shares_are_read_side_by_side_and_make_one_dataset(played):
    config(played)
    Played.pause = 0.05
    plan = split(played.plan(), 3)
    outcome = played.apply(plan)
    (orders,) = outcome.exports
    assert (orders.status, orders.rows, orders.parts) == (DONE, 300, UNITS)
    assert outcome.order == ("orders",)
    assert Played.most["orders"] == 3
    assert sorted(Played.seen) == list(range(UNITS))
    complete(played)
    assert kinds(played, "export_started", "export_finished") == ["export_started", "export_finished"]
    shares = [event.data for event in played.events if event.kind == "share_started"]
    assert sorted((data["share"], data["shares"], data["units"]) for data in shares) == [
        (f"orders/{number}", 3, 4) for number in (1, 2, 3)
    ]
    assert played.apply(plan).exports[0].status == ALREADY_DONE
    assert sorted(Played.seen) == list(range(UNITS))


@pytest.mark.parametrize(("workers", "slots"), [(1, 4), (4, 1), (2, 2)])
def test_workers_and_connections_hold(played, workers, slots):
    config(played, workers=workers, slots=slots)
    Played.pause = 0.02
    assert statuses(played.apply(split(played.plan(), 4))) == {"orders": DONE}
    assert Played.most["orders"] <= min(workers, slots)
    complete(played)


def test_more_shares_than_units_are_as_many_as_units(played):
    config(played)
    assert statuses(played.apply(split(played.plan(), 16))) == {"orders": DONE}
    complete(played)


def test_the_history_keeps_what_the_export_takes_unsplit(played):
    config(played)
    Played.pause = 0.1
    plan = split(played.plan(), 4)
    outcome = played.apply(plan).exports[0]
    (run,) = played.state().histories()["orders"]
    assert outcome.seconds < 0.7 * UNITS * Played.pause < UNITS * Played.pause <= run.seconds
    (metric,) = played.state().metrics()
    assert metric.seconds == pytest.approx(run.seconds, abs=0.05)
    assert outcome.predicted_seconds == pytest.approx(plan.export("orders").predicted_seconds.p50 / 4)
    assert metric.predicted_p50 == plan.export("orders").predicted_seconds.p50


def test_a_share_that_fails_ends_the_export_and_nothing_else(played):
    config(
        played,
        {"name": "customers", "table": "customers"},
        {"name": "behind", "table": "customers", "depends_on": ["orders"]},
        workers=2,
    )
    Played.failing[1] = SourceError("the table is odd", error_class="other")
    outcome = played.apply(split(played.plan(), 4))
    assert statuses(outcome) == {"orders": FAILED, "customers": DONE, "behind": SKIPPED}
    found = {export.name: export for export in outcome.exports}
    assert found["orders"].error["message"] == "the table is odd"
    assert found["behind"].reason == "skipped because of orders"
    assert outcome.shared_causes == ()
    assert kinds(played, "export_failed", "export_skipped") == ["export_failed", "export_skipped"]
    assert not (played.root / "out" / "orders" / "_rivet" / "current.json").exists()
    again = dict(Played.failing)
    Played.failing.clear()
    Played.seen.clear()
    assert statuses(played.apply(split(played.plan(), 4), resume=True))["orders"] == DONE
    assert again.keys() <= set(Played.seen)
    complete(played)


def test_many_shares_that_fail_at_once_are_one_failure_of_the_source(played):
    config(played, {"name": "customers", "table": "customers"})
    Played.pause = 0.05
    Played.failing |= {unit: SourceError("gone", error_class="connection") for unit in range(UNITS)}
    outcome = played.apply(split(played.plan(), 4))
    assert statuses(outcome) == {"orders": FAILED, "customers": DONE}
    assert outcome.shared_causes == ()


def test_resume_reads_only_what_is_missing_whatever_the_shares(played):
    config(played, workers=1)
    plan = split(played.plan(), 4)
    Played.failing[7] = SourceError("the table is odd", error_class="other")
    assert statuses(played.apply(plan)) == {"orders": FAILED}
    done = set(Played.seen) - {7}
    assert done == set(range(7))
    Played.failing.clear()
    Played.seen.clear()
    outcome = played.apply(split(played.plan(), 3), resume=True)
    assert statuses(outcome) == {"orders": DONE}
    assert (sorted(Played.seen), outcome.exports[0].resumed_units) == (list(range(7, UNITS)), 7)
    complete(played)


def test_an_export_that_has_begun_is_read_to_its_end_under_fail_fast(played):
    config(played, {"name": "bad", "table": "customers"}, {"name": "late", "table": "customers"}, workers=1, fail_fast=True)
    plan = split(played.plan(), 3)
    began = []

    def before(spec, unit):
        if spec.table == "customers":
            raise SourceError("the table is odd", error_class="other")
        began.append(unit.index)

    Played.before = before
    outcome = played.apply(plan, policy="fifo")
    assert statuses(outcome) == {"orders": DONE, "bad": FAILED, "late": NOT_STARTED}
    assert len(began) == UNITS


def test_fail_fast_lets_the_shares_that_wait_start(played):
    """The other export fails while the first share is read, with one more worker than shares have."""
    config(played, {"name": "bad", "table": "customers"}, {"name": "late", "table": "customers"}, workers=2, fail_fast=True)
    plan = split(played.plan(), 3)
    failed = threading.Event()

    def before(spec, unit):
        if spec.table == "customers":
            failed.set()
            raise SourceError("the table is odd", error_class="other")
        assert failed.wait(20)
        time.sleep(0.02)

    def order(jobs, capacities):
        """One share, then the one that fails, then the others."""
        return sorted((job.name for job in jobs), key=["orders/1", "bad", "orders/2", "orders/3", "late"].index)

    policy = SchedulingPolicy(name="mine", summary="", order=order)
    played.registry = hooked(played.registry, rivet_scheduling_policies=(policy,))
    Played.before = before
    outcome = played.apply(plan, policy="mine")
    assert statuses(outcome) == {"orders": DONE, "bad": FAILED, "late": NOT_STARTED}
    complete(played)


@pytest.mark.parametrize("moment", [0, 4, 11])
def test_a_stop_between_the_shares_ends_the_export_and_gives_its_lease_back(played, moment):
    config(played, {"name": "late", "table": "customers"}, workers=1)
    plan = split(played.plan(), 3)

    def before(spec, unit):
        if unit.index == moment:
            interrupt()

    Played.before = before
    outcome = played.apply(plan, policy="fifo")
    assert outcome.exit_code == 130
    assert statuses(outcome) == {"orders": FAILED, "late": NOT_STARTED}
    (run,) = played.state().histories()["orders"]
    assert run.status == "killed"
    Played.before = None
    Played.seen.clear()
    assert statuses(played.apply(plan, resume=True)) == {"orders": DONE, "late": DONE}
    assert len(set(Played.seen)) >= UNITS - moment
    complete(played)


def test_a_stop_while_no_share_runs_ends_the_export(played):
    """The first share has ended, and the second one waits for its connection when the stop comes."""
    config(played, workers=1)
    plan = split(played.plan(), 3)

    def sink(event):
        played.events.append(event)
        if event.kind == "share_finished":
            interrupt()

    outcome = apply_plan(plan, played.registry, ApplyOptions(), sink)
    assert (outcome.exit_code, statuses(outcome)) == (130, {"orders": FAILED})
    assert outcome.exports[0].error["code"] == "interrupted"
    assert statuses(played.apply(plan, resume=True)) == {"orders": DONE}
    complete(played)


@pytest.mark.parametrize("fault", ["part_written:5", "part_published:5", "unit_done:5", "before_current", "after_current"])
def test_kill_9_in_a_share_loses_nothing(shop, fault):
    config(shop, kind="sqlite")
    path = shop.plan_file(split(shop.plan(), 3))
    code, output = shop.apply_elsewhere(path, fault=fault)
    assert code == -signal.SIGKILL, output
    code, output = shop.apply_elsewhere(path, resume=True)
    assert code == 0, output
    complete(shop)
    table = shop.table("orders")
    assert table.num_rows == len(set(table.column("id").to_pylist())) == 300


def test_a_busy_export_is_busy_once(shop):
    config(shop, kind="sqlite")
    plan = split(shop.plan(), 3)
    assert statuses(shop.apply(plan)) == {"orders": DONE}
    plan = split(shop.plan(), 3)
    with open_state("sqlite:///.rivet/state.db", base=shop.root) as state:
        lease = state.leases.acquire("export:orders")
        shop.events.clear()
        outcome = shop.apply(plan)
        state.leases.release(lease)
    assert statuses(outcome) == {"orders": FAILED}
    assert outcome.exit_code == 6
    assert kinds(shop, "export_failed") == ["export_failed"]
    assert statuses(shop.apply(plan)) == {"orders": DONE}


def test_a_suspect_is_left_whole_by_the_plan_and_by_the_run(played):
    config(played, {"name": "customers", "table": "customers"})
    plan = split(played.plan(), 3)
    Played.failing[0] = SourceError("the table is odd", error_class="other")
    for _ in range(3):
        assert statuses(played.apply(plan))["orders"] == FAILED
    Played.failing.clear()
    Played.most.clear()
    Played.pause = 0.02
    played.events.clear()
    assert statuses(played.apply(plan))["orders"] == DONE
    assert Played.most["orders"] == 1
    assert kinds(played, "share_started") == []


def test_the_plan_says_it_to_the_task(shop):
    config(shop, kind="sqlite")
    (task,) = tasks_from_plan(split(shop.plan(), 3))
    assert task.split_in == 3


def test_a_resumed_export_without_rows_asks_for_its_columns_over_the_last_connection(played):
    config(played, slots=1)
    played.sql("DELETE FROM orders WHERE id > 50")
    plan = split(played.plan(), 2)
    played.sql("DELETE FROM orders")
    Played.failing[1] = SourceError("the table is odd", error_class="other")
    assert statuses(played.apply(plan)) == {"orders": FAILED}
    Played.failing.clear()
    assert statuses(played.apply(plan, resume=True)) == {"orders": DONE}
    assert played.table("orders").column_names == ["id", "total", "updated_at"]


def test_a_share_of_a_run_that_never_began_is_no_success():
    """For the breaker it would end the row of what failed alike."""
    gone = DestinationError("the disk is gone", error_class="connection")

    def begin():
        raise gone

    whole = Job(name="orders", group="g", predicted_seconds=1.0)
    first, second = with_shares((whole,), {"orders": SplitIn(units=4, shares=2)})
    run = SharedRun(begin, lambda: None, connections=1)
    with pytest.raises(DestinationError):
        run.take(first, contextlib.nullcontext)
    assert run.take(second, contextlib.nullcontext) == (None, gone)
