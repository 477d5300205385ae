"""Shares of an export: they tile its units, add up to its time, and hold one heavy slot together."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.resources import demands, units_of
from rivet_core.scheduling.shares import SplitIn, share_names, share_out, with_shares
from rivet_core.scheduling.simulate import audit, simulate
from rivet_core.scheduling.waiting import why_waiting
from rivet_core.scheduling.waves import recommend_waves
from rivet_core.scheduling.whatif import what_ifs
from tests.scheduling.campaigns import POLICIES, campaigns, capacity, job, split_some


@given(st.integers(0, 50), st.integers(1, 60))
def test_shares_tile_the_units(units, shares):
    found = share_out(range(units), shares)
    assert [unit for share in found for unit in share] == list(range(units))
    assert len(found) == max(1, min(units, shares))
    sizes = [len(share) for share in found]
    assert max(sizes) - min(sizes) <= 1


def test_shares_add_up_to_the_time_of_the_export_and_keep_everything_else():
    whole = job("orders", 90.0, connections=2, p90_seconds=180.0, heavy=True, tier="high", rank=3, position=7)
    shares = with_shares([whole, job("later", depends_on=("orders", "x"))], {"orders": SplitIn(units=9, shares=4)})
    assert [share.name for share in shares] == ["orders/1", "orders/2", "orders/3", "orders/4", "later"]
    assert [share.predicted_seconds for share in shares[:4]] == [60.0, 40.0, 40.0, 40.0]  # over one connection, not two
    assert shares[0].p90_seconds == 120.0
    assert shares[4].depends_on == ("orders/1", "orders/2", "orders/3", "orders/4", "x")
    for share in shares[:4]:
        kept = {
            "name": "orders",
            "share_of": "",
            "shares": 1,
            "connections": 2,
            "predicted_seconds": 90.0,
            "p90_seconds": 180.0,
        }
        assert replace(share, **kept) == whole


@pytest.mark.parametrize("split", [SplitIn(units=1, shares=4), SplitIn(units=0, shares=4), SplitIn(units=9, shares=1)])
def test_what_has_one_share_stays_as_it_is(split):
    jobs = (job("orders", 90.0), job("later", depends_on=("orders",)))
    assert with_shares(jobs, {"orders": split}) == jobs


@given(campaigns(), st.sampled_from(sorted(POLICIES)), st.integers(0, 1 << 30))
def test_no_capacity_is_exceeded_and_everything_ends(campaign, name, seed):
    jobs, capacities = campaign
    jobs = split_some(jobs, seed)
    result = simulate(jobs, capacities, POLICIES[name])
    assert result.violations == 0, result.messages
    assert {run.name for run in result.schedule} == {found.name for found in jobs}
    assert result.makespan_seconds >= lower_bound(jobs, capacities).seconds * (1 - 1e-9)


@given(campaigns(), st.sampled_from(sorted(POLICIES)), st.integers(0, 1 << 30))
def test_failures_and_skips_leave_no_slot_taken(campaign, name, seed):
    """What is taken at every moment is what runs, and one heavy slot for each export that has begun and not ended."""
    jobs, capacities = campaign
    jobs = split_some(jobs, seed)
    dispatcher = Dispatcher(jobs, capacities, POLICIES[name])
    rng = random.Random(seed)
    by_name = {found.name: found for found in jobs}
    running: list[str] = []
    while not dispatcher.finished:
        while (found := dispatcher.claim()) is not None:
            running.append(found.name)
        taken: dict[str, int] = {}
        for one in running:
            for resource, units in demands(by_name[one], capacities):
                if not (by_name[one].share_of and resource.startswith("heavy:")):
                    taken[resource] = taken.get(resource, 0) + units
        for export in dispatcher.begun:
            share = next(found for found in jobs if found.share_of == export)
            if share.heavy:
                taken[f"heavy:{share.group}"] = taken.get(f"heavy:{share.group}", 0) + 1
        assert all(units <= units_of(resource, capacities) for resource, units in taken.items())
        assert running, "nothing runs and something waits"
        one = running.pop(rng.randrange(len(running)))
        ok = rng.random() < 0.7
        dispatcher.finish(one, ok=ok)
        if not ok:
            for sibling in jobs:
                if sibling.share_of and sibling.share_of == by_name[one].share_of:
                    dispatcher.skip(sibling.name, "its export failed")
    assert len(dispatcher.done) == len(jobs)


def test_siblings_pass_while_their_export_has_the_slot():
    jobs = with_shares(
        [job("giant", 40.0, heavy=True), job("other", 30.0, heavy=True, position=1)], {"giant": SplitIn(units=4, shares=4)}
    )
    capacities = capacity(2, g=(8, 1))
    dispatcher = Dispatcher(jobs, capacities, POLICIES["fifo"])
    assert [dispatcher.claim().name for _ in range(2)] == ["giant/1", "giant/2"]
    dispatcher.finish("giant/1")
    dispatcher.finish("giant/2")
    assert dispatcher.begun == {"giant"}
    assert dispatcher.claim().name == "giant/3"
    assert [str(found) for found in why_waiting(dispatcher)] == [
        "giant/4 waits for its turn: the policy lets others pass",
        "other waits for 1 heavy slot of group g, out of 1: giant has 1",
    ]
    dispatcher.finish("giant/3")
    assert dispatcher.claim().name == "giant/4"
    assert dispatcher.claim() is None
    dispatcher.finish("giant/4")
    assert (dispatcher.begun, dispatcher.claim().name) == (frozenset(), "other")


def test_what_has_begun_goes_on_after_a_drain():
    jobs = with_shares([job("giant", 40.0), job("other", 30.0)], {"giant": SplitIn(units=3, shares=3)})
    dispatcher = Dispatcher(jobs, capacity(1, g=(8, 1)), POLICIES["longest-first"])
    assert dispatcher.claim().name == "other"
    dispatcher.finish("other")
    assert dispatcher.claim().name == "giant/1"
    dispatcher.drain("fail_fast: x failed")
    dispatcher.finish("giant/1")
    assert not dispatcher.finished
    for name in ("giant/2", "giant/3"):
        assert dispatcher.claim().name == name
        dispatcher.finish(name)
    assert dispatcher.finished
    late = Dispatcher(jobs, capacity(1, g=(8, 1)), POLICIES["longest-first"])
    late.drain("fail_fast: x failed")
    assert (late.claim(), late.finished) == (None, True)


def test_an_export_that_is_not_parallel_safe_may_run_beside_itself():
    jobs = [job("giant", 40.0, parallel_safe=False), job("other", 30.0, parallel_safe=False)]
    dispatcher = Dispatcher(
        with_shares(jobs, {"giant": SplitIn(units=2, shares=2)}), capacity(4, g=(8, 1)), POLICIES["longest-first"]
    )
    assert dispatcher.claim().name == "other"
    assert dispatcher.claim() is None
    dispatcher.finish("other")
    assert [dispatcher.claim().name for _ in range(2)] == ["giant/1", "giant/2"]


@given(campaigns(), st.integers(0, 1 << 30), st.integers(1, 5))
def test_the_shares_of_an_export_are_in_one_wave(campaign, seed, asked):
    jobs, capacities = campaign
    shared = split_some(jobs, seed)
    waves = recommend_waves(shared, capacities, asked)
    assert set(waves.wave_of) == set(waves.runs_in) == {found.name for found in jobs}
    assert len(waves.assign(shared)) == len(shared)
    assert bool(what_ifs(shared, capacities)) == bool(shared)


def test_the_audit_sees_two_heavy_exports_at_once():
    jobs = with_shares([job("giant", 40.0, heavy=True), job("other", 30.0, heavy=True)], {"giant": SplitIn(units=2, shares=2)})
    run = simulate(jobs, capacity(3, g=(8, 2)), POLICIES["fifo"])
    assert run.violations == 0
    assert audit(run.schedule, jobs, capacity(3, g=(8, 2))) == []
    assert audit(run.schedule, jobs, capacity(3, g=(8, 1))) == ["heavy:g: 2 units taken, 1 there"]


def test_no_export_can_be_called_as_a_share_is():
    from rivet_core.config.values import read_name

    with pytest.raises(ValueError, match="/"):
        read_name(share_names("orders", 2)[0])
