"""One retry layer: the unit. Flaky sources are tried again from the failed unit, broken ones are not."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from rivet_core.errors import SourceError
from rivet_core.facts import Tuning
from rivet_core.plugins import load_plugins
from rivet_core.running.retry import BUDGET, CAP_SECONDS, Budget, DecorrelatedJitter, Retrier

FAST = Tuning(retry_backoff_seconds=0.001)


class FlakySession:
    """A real session whose streams break after some rows, as often as told for each unit."""

    def __init__(self, session, breaks, error):
        self.session = session
        self.breaks = breaks
        self.error = error
        self.reads = []

    def __getattr__(self, name):
        return getattr(self.session, name)

    def read(self, spec, unit):
        self.reads.append(unit.index)
        stream = self.session.read(spec, unit)
        if self.breaks.get(unit.index, 0):
            self.breaks[unit.index] -= 1
            return BrokenStream(stream, self.error)
        return stream


class BrokenStream:
    """Delivers the first rows of a stream, then an error."""

    def __init__(self, stream, error):
        self.stream = stream
        self.error = error

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def __iter__(self):
        for batch in self.stream:
            yield batch.slice(0, max(1, batch.num_rows // 2))
            raise self.error


@pytest.fixture
def flaky(shop):
    """`flaky(breaks, error)` makes the project's source break."""

    def install(breaks, error):
        registry = load_plugins()
        opened = registry.open_source
        sessions = []

        def open_source(*args, **kwargs):
            sessions.append(FlakySession(opened(*args, **kwargs), breaks, error))
            return sessions[-1]

        plan = shop.plan()
        registry.open_source = open_source
        shop.registry = registry
        return plan, sessions

    shop.config(
        {
            "name": "orders",
            "table": "orders",
            "mode": "chunked",
            "chunk_column": "id",
            "chunk_count": 3,
            "tuning": {"retry_backoff_ms": 1},
        }
    )
    return install


def dropped(transient=True):
    return SourceError("server closed the connection", transient=transient, error_class="connection")


def test_m09_a_drop_reads_the_unit_again_and_only_that(shop, flaky):
    plan, sessions = flaky({1: 2}, dropped())
    outcome = shop.apply(plan)
    assert outcome.exit_code == 0
    assert sessions[0].reads == [0, 1, 1, 1, 2]
    assert outcome.exports[0].retries == 2
    assert shop.rows("orders", "id", "total") == shop.source_rows("SELECT id, total FROM orders")
    assert len(list((shop.root / "out").rglob("*.parquet"))) == 3


def test_after_three_tries_it_fails_and_can_be_resumed(shop, flaky):
    plan, sessions = flaky({1: 3}, dropped())
    outcome = shop.apply(plan)
    assert outcome.exit_code == 1
    assert sessions[0].reads == [0, 1, 1, 1]
    assert shop.files("orders") == []
    assert shop.apply(plan, resume=True).exit_code == 0
    assert sessions[1].reads == [1, 2]
    assert shop.rows("orders", "id", "total") == shop.source_rows("SELECT id, total FROM orders")


def test_a_permanent_error_is_not_tried_again(shop, flaky):
    plan, sessions = flaky({0: 1}, dropped(transient=False))
    assert shop.apply(plan).exit_code == 1
    assert sessions[0].reads == [0]


def test_a_bug_in_a_plugin_is_exit_7_and_no_traceback(shop, flaky):
    plan, _ = flaky({0: 1}, pa.ArrowInvalid("bad buffer"))
    outcome = shop.apply(plan)
    assert outcome.exit_code == 7
    assert "ArrowInvalid at test_retry.py:" in outcome.exports[0].error["message"]
    assert "bad buffer" not in outcome.exports[0].error["message"]


def always_fails():
    raise dropped()


def test_the_budget_of_the_campaign_ends_retries():
    budget = Budget(units=100)
    assert sum(budget.take() for _ in range(1000)) == BUDGET + 5
    assert sum(budget.take() for budget in [Budget(units=100, at_once=30)] for _ in range(1000)) == BUDGET + 5 + 60
    retrier = Retrier(FAST, budget, stopped=threading.Event())
    with pytest.raises(SourceError):
        retrier.run(always_fails)
    assert retrier.retries == 0


def test_no_retry_after_a_stop():
    stopped = threading.Event()
    stopped.set()
    retrier = Retrier(FAST, Budget(0), stopped=stopped)
    with pytest.raises(SourceError):
        retrier.run(always_fails)
    assert retrier.retries == 0


def test_pauses_are_jittered_and_bounded():
    pauses = [DecorrelatedJitter(0.25) for _ in range(50)]
    first = [pause(None) for pause in pauses]
    assert len(set(first)) == 50
    assert all(0.25 <= seconds <= 0.75 for seconds in first)
    last = [[pause(None) for _ in range(30)][-1] for pause in pauses]
    assert all(0.25 <= seconds <= CAP_SECONDS for seconds in last)


def test_in_parallel_the_first_error_is_the_one_reported(shop, flaky):
    shop.config(
        {"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 6, "parallel": 3},
        source_groups={"db": {"max_connections": 3}},
        source={"type": "sqlite", "path": "shop.db", "source_group": "db"},
    )
    plan, _ = flaky({2: 9}, dropped(transient=False))
    outcome = shop.apply(plan)
    assert outcome.exports[0].error["message"] == "server closed the connection"
    assert shop.files("orders") == []
    shop.registry = load_plugins()
    assert shop.apply(plan, resume=True).exit_code == 0
    assert shop.rows("orders", "id", "total") == shop.source_rows("SELECT id, total FROM orders")
