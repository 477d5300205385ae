"""M08: a campaign in which nothing moves says who waits for what, and one that moves says nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rivet_core.render.progress import PlainView, stalled_text
from rivet_core.running.apply import ApplyOptions, apply_plan
from rivet_core.state import Lease, open_state
from rivet_core.state.leases import Slots

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4000000) SELECT i FROM n"
THINKING = f"SELECT count(*) AS n FROM ({NUMBERS})"
GROUP = {
    "source": {"type": "sqlite", "path": "shop.db", "source_group": "g"},
    "source_groups": {"g": {"max_connections": 1, "max_heavy": 1}},
}


def apply(shop, plan, stall_seconds, then=lambda event: None):
    told = []

    def sink(event):
        if event.kind == "stalled":
            told.append(event)
            then(event)

    outcome = apply_plan(plan, shop.registry, ApplyOptions(stall_seconds=stall_seconds), sink)
    return told, outcome


def slow(shop):
    shop.config(
        {"name": "slow", "query": THINKING},
        {"name": "a", "table": "customers"},
        {"name": "b", "table": "customers", "depends_on": ["slow"]},
        planning={"workers": 4, "policy": "fifo"},
        **GROUP,
    )


def test_who_reads_and_who_waits_for_it(shop):
    slow(shop)
    told, outcome = apply(shop, shop.plan(), 0.15)
    assert outcome.exit_code == 0
    data = told[0].data
    assert data["silent_seconds"] >= 0.15
    assert [(one["export"], one["what"]) for one in data["doing"]] == [("slow", "runs"), ("slow", "reads unit 0")]
    assert all(one["seconds"] >= 0.1 for one in data["doing"])
    assert data["waiting"] == [
        {"exports": ["a"], "reason": "1 connection of group g, out of 1: slow has 1"},
        {"exports": ["b"], "reason": "slow (depends_on)"},
    ]
    said = []
    PlainView(said.append)(told[0])
    assert said == [stalled_text(data)]
    first, *rest = said[0].splitlines()
    assert first.startswith("stalled: no rows, no start and no end for ")
    assert "  a waits for 1 connection of group g, out of 1: slow has 1" in rest
    assert any(line.startswith("  slow reads unit 0, for ") for line in rest)
    with shop.state() as state:
        assert "stalled" in [event.kind for event in state.events(plan_id=outcome.plan_id)]


def test_it_is_said_again_later_and_later(shop):
    slow(shop)
    told, _ = apply(shop, shop.plan(), 0.1)
    silent = [event.data["silent_seconds"] for event in told]
    assert len(silent) >= 2
    assert all(late >= 1.8 * early for early, late in pairwise(silent))


@pytest.mark.parametrize("stall_seconds", [0.0, 30.0])
def test_never_and_not_yet(shop, stall_seconds):
    slow(shop)
    assert apply(shop, shop.plan(), stall_seconds)[0] == []


def test_a_campaign_that_moves_is_left_alone(shop):
    shop.config(
        *({"name": f"e{number}", "table": "orders", "quality": {"row_count_min": 1}} for number in range(60)),
        planning={"workers": 1},
    )
    told, outcome = apply(shop, shop.plan(), 1.5)
    assert outcome.exit_code == 0
    assert told == []


@pytest.mark.parametrize("resource", ["connections:g", "heavy:g"])
def test_what_another_run_holds_is_named(shop, resource):
    """The slots of a group in another process: nothing here ever starts, and the line says whose they are."""
    shop.config({"name": "a", "query": "SELECT 1 AS one", "heavy": True}, **GROUP)
    plan = shop.plan()
    with open_state("sqlite:///.rivet/state.db", base=shop.root) as state:
        held = state.leases.attempt("export:other", (Slots(resource=resource, capacity=1, count=1),))
        assert isinstance(held, Lease)
        told, outcome = apply(shop, plan, 0.1, lambda event: state.leases.release(held))
    assert outcome.exit_code == 0
    (doing,) = [one for one in told[0].data["doing"] if one["what"].startswith("waits for")]
    assert doing["export"] == ("source default" if resource == "connections:g" else "a")
    assert resource in doing["what"]
    assert "held by" in doing["what"]
