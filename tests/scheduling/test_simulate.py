"""The virtual clock: the same engine as the executor, an audit of its own, and known makespans."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.render.goals import goal_lines
from rivet_core.scheduling.campaign_file import Campaign, parse_campaign
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.goals import tier_goals
from rivet_core.scheduling.simulate import Scheduled, audit, simulate, simulate_campaign, what_ifs_of
from tests.scheduling.campaigns import POLICIES, campaigns, capacity, job, row

policies = st.sampled_from(sorted(POLICIES))


@pytest.mark.parametrize("workers", [4, 6])
def test_m04_longest_first_gives_51_with_four_and_with_six_slots(workers):
    result = simulate(row([51.0, 16, 10, 10, 10, 10, 10]), capacity(workers), POLICIES["longest-first"])
    assert (result.makespan_seconds, result.ratio) == (51, 1.0)


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_m02_all_heavy_is_predicted_as_what_it_takes(name):
    result = simulate(row([600.0] * 4, heavy=True), capacity(4, g=(4, 1)), POLICIES[name])
    assert result.makespan_seconds == 2400


def test_m06_the_goal_decides_who_ends_first():
    jobs = (job("big", 60, tier="low", rank=9), *(job(f"s{place}", 5, tier="high", rank=place) for place in range(9)))
    longest = simulate(jobs, capacity(2), POLICIES["longest-first"])
    priority = simulate(jobs, capacity(2), POLICIES["priority"])
    assert (longest.tier_ends["high"], longest.makespan_seconds) == (45, 60)
    assert (priority.tier_ends["high"], priority.makespan_seconds) == (25, 80)


def test_m06_the_ends_of_the_tiers_and_the_conflict_of_goals_are_said():
    jobs = (job("big", 60, tier="low", rank=9), *(job(f"s{place}", 5, tier="high", rank=place) for place in range(9)))
    campaign = Campaign(jobs=jobs, capacities=capacity(2))
    now, other = tier_goals(campaign, POLICIES, "longest-first")
    assert (dict(now.ends), now.makespan_seconds) == ({"high": 45, "low": 60}, 60)
    assert (dict(other.ends), other.makespan_seconds) == ({"high": 25, "low": 80}, 80)
    assert goal_lines((now, other)) == [
        "goal         with longest-first tier high is done after 45 s, low after 1 min",
        "conflict     with --policy priority tier high is done after 25 s, low after 1 min 20 s, "
        "all after 1 min 20 s instead of 1 min",
    ]
    assert len(tier_goals(campaign, POLICIES, "priority")) == 1
    assert tier_goals(replace(campaign, jobs=jobs[1:]), POLICIES, "longest-first") == ()


def test_m12_the_least_recently_successful_go_first_among_equals():
    last = dict.fromkeys(f"e{place}" for place in range(10))
    times = dict.fromkeys(last, 0)
    for window in range(5):
        jobs = [job(name, 60, last_success=last[name]) for name in last]
        result = simulate(jobs, capacity(1), POLICIES["bottleneck"])
        for run in result.schedule:
            if run.end <= 360:  # the window closes after six minutes
                last[run.name] = window * 86400 + run.end
                times[run.name] += 1
    assert set(times.values()) == {3}


@settings(max_examples=150, deadline=None)
@given(campaigns(), policies, st.integers(0, 2**32))
def test_no_violation_and_no_schedule_below_the_bound(campaign, name, seed):
    jobs, capacities = campaign
    actual = {found.name: found.predicted_seconds * (1 + (seed + place) % 3) for place, found in enumerate(jobs)}
    result = simulate(jobs, capacities, POLICIES[name], actual)
    assert result.violations == 0
    assert sorted(run.name for run in result.schedule) == sorted(found.name for found in jobs)
    assert result.bound.seconds <= result.makespan_seconds * (1 + 1e-9) + 1e-9


@settings(max_examples=80, deadline=None)
@given(campaigns(), policies)
def test_the_simulator_starts_what_the_dispatcher_hands_out(campaign, name):
    jobs, capacities = campaign
    result = simulate(jobs, capacities, POLICIES[name])
    dispatcher = Dispatcher(jobs, capacities, POLICIES[name])
    started = []
    moments = sorted({run.end for run in result.schedule})
    ends = {run.name: run.end for run in result.schedule}
    order = {run.name: run.order for run in result.schedule}
    started += [found.name for found in iter(dispatcher.claim, None)]
    for moment in moments:
        while due := sorted((found.name for found in dispatcher.running if ends[found.name] <= moment), key=order.__getitem__):
            for found in due:
                dispatcher.finish(found)
            started += [found.name for found in iter(dispatcher.claim, None)]
    assert started == [run.name for run in result.schedule]


@settings(max_examples=60, deadline=None)
@given(campaigns(), st.sampled_from(["bottleneck", "longest-first", "fifo", "priority", "fast-lane"]))
def test_work_conserving_orders_keep_the_published_guarantee(campaign, name):
    # Cmax <= (1 + |R(l)|) LB for unit demands, no barriers, no dependencies (l = the job that ends last).
    jobs, capacities = campaign
    jobs = tuple(
        job(found.name, found.predicted_seconds, group=found.group, heavy=found.heavy, serial=found.serial) for found in jobs
    )
    result = simulate(jobs, capacities, POLICIES[name])
    assert result.makespan_seconds <= (1 + 4) * result.bound.seconds + 1e-9


def test_decisions_use_predictions_and_the_clock_uses_the_truth():
    result = simulate(row([10.0, 1.0]), capacity(1), POLICIES["longest-first"], {"e0": 2.0, "e1": 30.0})
    assert [(run.name, run.start, run.end) for run in result.schedule] == [("e0", 0, 2), ("e1", 2, 32)]


def test_the_result_has_the_documented_shape():
    campaign = parse_campaign(
        {
            "workers": 8,
            "groups": {"crm": {"max_connections": 4, "max_heavy": 1}},
            "exports": [
                {
                    "name": "orders",
                    "group": "crm",
                    "predicted_seconds": 61.0,
                    "actual_seconds": 70.5,
                    "heavy": True,
                    "tier": "high",
                },
                {"name": "items", "group": "crm", "predicted_seconds": 20.0},
            ],
        }
    )
    assert simulate_campaign(campaign, POLICIES["bottleneck"]).as_dict() == {
        "makespan_seconds": 70.5,
        "lower_bound_seconds": 70.5,
        "binding": {
            "kind": "longest",
            "name": "orders",
            "explanation": "orders alone takes 70.5 s; no number of workers ends sooner",
        },
        "ratio": 1.0,
        "violations": 0,
        "schedule": [{"name": "orders", "start": 0.0, "end": 70.5}, {"name": "items", "start": 0.0, "end": 20.0}],
        "fresh": {"mean_ratio": 1.0},
    }
    assert simulate_campaign(campaign, POLICIES["fifo"], workers=1).makespan_seconds == 90.5


def test_the_audit_finds_what_the_dispatcher_would_never_do():
    jobs = (job("a", heavy=True), job("b", heavy=True), job("c", depends_on=("a",)))
    together = [Scheduled(name=name, start=0.0, end=10.0) for name in "abc"]
    messages = audit(together, jobs, capacity(2, g=(4, 1)))
    assert messages == ["c starts before a ends", "heavy:g: 2 units taken, 1 there", "workers: 3 units taken, 2 there"]


def test_an_empty_campaign_takes_no_time():
    result = simulate((), capacity(4), POLICIES["waves"])
    assert (result.makespan_seconds, result.ratio, result.fresh_mean_ratio) == (0.0, 1.0, None)


def test_several_results_are_told_apart_by_their_labels():
    result = simulate(row([1.0]), capacity(2), POLICIES["fifo"])
    assert list(result.as_labelled_dict())[:2] == ["policy", "workers"]
    assert result.as_labelled_dict() == {"policy": "fifo", "workers": 2, **result.as_dict()}


def test_what_ifs_are_of_the_seconds_and_the_workers_that_were_simulated():
    campaign = Campaign(jobs=row([10.0] * 4), capacities=capacity(4), actual={"e0": 30.0})
    changes = {found.change: found.lower_bound_seconds for found in what_ifs_of(campaign, 1)}
    assert simulate_campaign(campaign, POLICIES["fifo"], 1).bound.seconds == 60
    assert (changes["workers 2"], changes["workers 2 (doubled)"]) == (30, 30)
