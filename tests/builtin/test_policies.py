"""The built-in policies, each on a campaign where its rule shows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.builtin.policies import FAST_LANE_SHARE, builtin_policies, promote
from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.resources import demands, units_of
from rivet_core.scheduling.simulate import simulate
from tests.scheduling.campaigns import POLICIES, campaigns, capacity, job, row


def order(name, jobs, capacities):
    return [run.name for run in simulate(jobs, capacities, POLICIES[name]).schedule]


def test_names_and_lazy_references():
    assert [policy.name for policy in builtin_policies()] == [
        "waves",
        "waves-bottleneck",
        "longest-first",
        "bottleneck",
        "fast-lane",
        "fifo",
        "priority",
    ]
    for policy in builtin_policies():
        assert isinstance(policy.order, str)
        assert policy.summary


def test_fifo_and_waves_keep_config_order():
    jobs = (job("b", 1, position=0, wave=1), job("a", 9, position=1, wave=1))
    assert order("fifo", jobs, capacity(1)) == order("waves", jobs, capacity(1)) == ["b", "a"]


def test_priority_is_rank_order():
    assert order("priority", (job("b", rank=2), job("a", rank=1)), capacity(1)) == ["a", "b"]


def test_equal_ranks_go_by_staleness():
    jobs = (job("a", last_success=9.0), job("b", last_success=3.0), job("c"))
    assert order("priority", jobs, capacity(1)) == ["c", "b", "a"]


def test_longest_first_runs_unsafe_exports_one_at_a_time_and_ignores_tiers():
    jobs = (
        job("a", 30, parallel_safe=False),
        job("b", 20, parallel_safe=False),
        job("c", 10),
        job("d", 5, tier="high"),
    )
    result = simulate(jobs, capacity(4), POLICIES["longest-first"])
    assert {run.name: run.start for run in result.schedule} == {"a": 0, "c": 0, "d": 0, "b": 30}


def test_bottleneck_starts_where_most_work_waits_for_few_slots():
    # Longest-first would start x first; but g must pass 40 s through one slot.
    jobs = (job("x", 15, group="h"), *(job(f"e{place}", 10, heavy=True) for place in range(4)), job("y", 15, group="h"))
    capacities = capacity(2, g=(4, 1), h=(4, 1))
    assert order("bottleneck", jobs, capacities)[0] == "e0"
    assert simulate(jobs, capacities, POLICIES["bottleneck"]).makespan_seconds == 40
    assert simulate(jobs, capacities, POLICIES["longest-first"]).makespan_seconds == 55


def test_bottleneck_equals_longest_first_when_nothing_is_scarce():
    jobs = row([3.0, 9.0, 1.0, 7.0, 5.0])
    assert order("bottleneck", jobs, capacity(2)) == order("longest-first", jobs, capacity(2))


def test_bottleneck_reckons_with_the_high_end_of_the_range():
    jobs = (job("sure", 10, p90_seconds=13), job("guess", 9, p90_seconds=27))
    assert order("bottleneck", jobs, capacity(1)) == ["guess", "sure"]


def test_ties_go_to_the_least_recently_successful_then_by_name():
    jobs = (job("a", last_success=9.0), job("b", last_success=3.0), job("d"), job("c"))
    assert order("bottleneck", jobs, capacity(1)) == ["c", "d", "b", "a"]


def test_the_fast_lane_promotes_cheap_promised_exports_and_starts_them_first():
    jobs = (*row([100.0] * 8), job("small", 4, tier="high"), job("tiny", 2, deadline=True), job("large", 90, tier="high"))
    capacities = capacity(2)
    assert promote(jobs, capacities) == {"small", "tiny"}
    assert order("fast-lane", jobs, capacities)[:2] == ["tiny", "small"]


def test_promised_exports_pass_others_while_nothing_is_urgent():
    jobs = (*row([50.0] * 20), job("promised", 40, tier="high"))
    assert promote(jobs, capacity(2)) == frozenset()
    result = simulate(jobs, capacity(2), POLICIES["fast-lane"])
    assert result.schedule[0].name == "promised"
    assert result.ratio <= 1.05


def test_the_fast_lane_does_not_let_a_bottleneck_idle():
    slow = [job(f"h{place}", 20, heavy=True) for place in range(10)]
    others = [job(f"o{place}", 20, group="o") for place in range(20)]
    promised = [job(f"p{place}", 2, group="o", tier="high") for place in range(3)]
    result = simulate((*slow, *others, *promised), capacity(4, g=(4, 1), o=(4, 1)), POLICIES["fast-lane"])
    assert result.ratio == pytest.approx(1.0)
    assert result.tier_ends["high"] <= 4


@settings(max_examples=80, deadline=None)
@given(campaigns())
def test_the_fast_lane_stays_a_small_share_of_every_resource(campaign):
    jobs, capacities = campaign
    budget = FAST_LANE_SHARE * lower_bound(jobs, capacities).seconds
    used: dict[str, float] = {}
    front = promote(jobs, capacities)
    for found in jobs:
        if found.name in front:
            assert found.tier == "high" or found.deadline
            assert found.predicted_seconds <= budget
            for name, units in demands(found, capacities):
                used[name] = used.get(name, 0.0) + units * found.predicted_seconds / units_of(name, capacities)
    assert all(load <= budget + 1e-9 for load in used.values())


@settings(max_examples=60, deadline=None)
@given(campaigns(), st.sampled_from(sorted(POLICIES)), st.randoms(use_true_random=False))
def test_the_order_in_which_jobs_are_given_does_not_matter(campaign, name, rng):
    jobs, capacities = campaign
    shuffled = list(jobs)
    rng.shuffle(shuffled)
    assert order(name, jobs, capacities) == order(name, shuffled, capacities)
