"""Opening sources of different groups at once: as long as the slowest, not as long as all."""

from __future__ import annotations

import threading
import time

import pytest

from rivet_core.api import SourceSpec
from rivet_core.builtin.sqlite.options import SqliteOptions
from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.plugins import PluginInfo, Registry, Status
from rivet_core.running.outcome import DONE
from rivet_core.running.together import AT_ONCE, together


def test_results_come_in_the_order_of_the_calls_and_run_at_once():
    together_now = threading.Barrier(AT_ONCE, timeout=10)

    def call(number):
        together_now.wait()
        return number * number

    found = together({number: lambda number=number: call(number) for number in range(AT_ONCE * 2)})
    assert list(found.items()) == [(number, number * number) for number in range(AT_ONCE * 2)]


def test_the_first_failure_is_raised_when_all_have_ended():
    ended = []

    def fail(number):
        ended.append(number)
        raise ValueError(f"number {number}")

    with pytest.raises(ValueError, match="number 1"):
        together({0: lambda: ended.append(0), 1: lambda: fail(1), 2: lambda: fail(2)})
    assert sorted(ended) == [0, 1, 2]
    assert together({}) == {}


class Slow(SqliteSession):
    """Takes its time to answer."""

    def probe(self):
        time.sleep(0.6)
        return super().probe()


def connect(options):
    return Slow(options.database())


def test_sources_of_different_groups_are_opened_at_once(shop):
    slow = SourceSpec(name="slow", summary="", options=SqliteOptions, connect=connect)
    plugin = PluginInfo(
        name="slow", dist="rivet-slow", version="1.0", api=1, status=Status.OK, hooks={"rivet_sources": (slow,)}
    )
    shop.registry = Registry([*shop.registry.plugins, plugin])
    names = [f"s{number}" for number in range(4)]
    shop.config(
        *({"name": name, "table": "customers", "source": name} for name in names),
        source=None,
        sources={name: {"type": "slow", "path": "shop.db", "source_group": name} for name in names},
    )
    plan = shop.plan()
    outcome = shop.apply(plan)
    assert {export.status for export in outcome.exports} == {DONE}
    first = next(event.at for event in shop.events if event.kind == "export_started")
    opening = (first - next(event.at for event in shop.events if event.kind == "campaign_started")).total_seconds()
    assert 0.6 <= opening < 4 * 0.6
