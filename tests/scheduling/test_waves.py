"""Recommended waves and free barriers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.chains import LAST_WAVE
from rivet_core.scheduling.resources import demands, units_of
from rivet_core.scheduling.simulate import simulate
from rivet_core.scheduling.waves import free_waves, recommend_waves
from tests.scheduling.campaigns import POLICIES, campaigns, capacity, job, row


def test_exports_fill_waves_in_rank_order():
    jobs = tuple(job(f"e{place}", 10, rank=7 - place, position=place) for place in range(8))
    plan = recommend_waves(jobs, capacity(2), asked=4)
    assert plan.members() == {1: ("e6", "e7"), 2: ("e4", "e5"), 3: ("e2", "e3"), 4: ("e0", "e1")}
    assert (plan.budget_seconds, plan.free_waves, plan.spans) == (10.0, 4, frozenset())


def test_the_budget_holds_on_every_resource():
    jobs = (*row([10.0] * 4, heavy=True), *(job(f"l{place}", 10, rank=9) for place in range(4)))
    plan = recommend_waves(jobs, capacity(4, g=(4, 1)), asked=4)
    assert [plan.wave_of[f"e{place}"] for place in range(4)] == [1, 2, 3, 4]


def test_an_export_longer_than_a_wave_spans_and_starts_first():
    plan = recommend_waves(row([1.0, 1.0, 100.0, 1.0]), capacity(4), asked=4)
    assert plan.spans == {"e2"}
    assert plan.wave_of["e2"] == 1
    assert plan.free_waves == 1


def test_what_may_span_a_wave_counts_with_its_p90():
    """A long export without history: the others of its wave fill the time until it may end, not until it is expected to."""
    sure = (job("long", 30, p90_seconds=40), *(job(f"e{place}", 10, rank=place + 1) for place in range(30)))
    unsure = (job("long", 30, p90_seconds=60), *sure[1:])
    first = {jobs: plan.members()[1] for jobs in (sure, unsure) for plan in [recommend_waves(jobs, capacity(2), asked=4)]}
    assert [recommend_waves(jobs, capacity(2), asked=4).spans for jobs in (sure, unsure)] == [frozenset(), {"long"}]
    assert [len(first[jobs]) for jobs in (sure, unsure)] == [
        7,
        10,
    ]  # a quarter of the bound, 41.25 s, and what fits nowhere; up to 60 s


def test_there_are_never_more_waves_than_exports():
    assert recommend_waves(row([5.0, 5.0]), capacity(1), asked=9).asked == 2
    assert recommend_waves((), capacity(1), asked=4).wave_of == {}


def test_auto_takes_what_is_free():
    jobs = row([10.0] * 12)
    assert free_waves(lower_bound(jobs, capacity(2))) == 6
    assert recommend_waves(jobs, capacity(2), asked=None).asked == 6


def test_hand_set_waves_stand_and_the_others_are_suggestions_that_run_last():
    jobs = (job("a", wave=7), job("b"), job("c", wave=1))
    plan = recommend_waves(jobs, capacity(1), asked=2)
    assert (plan.wave_of["a"], plan.wave_of["c"], plan.hand_set) == (7, 1, {"a", "c"})
    assert plan.wave_of["b"] in (1, 2)
    assert [found.wave for found in plan.assign(jobs)] == [7, None, 1]


def test_what_waits_is_never_in_an_earlier_wave():
    jobs = (job("a", rank=0, depends_on=("b",)), job("b", rank=1), job("c", rank=2))
    plan = recommend_waves(jobs, capacity(1), asked=3)
    assert plan.wave_of["a"] >= plan.wave_of["b"]


@settings(max_examples=100, deadline=None)
@given(campaigns(), st.integers(1, 6))
def test_every_export_has_a_wave_and_the_first_fit_keeps_the_budget(campaign, asked):
    jobs, capacities = campaign
    jobs = tuple(job(found.name, found.predicted_seconds, group=found.group, heavy=found.heavy) for found in jobs)
    plan = recommend_waves(jobs, capacities, asked)
    assert list(plan.wave_of) == [found.name for found in jobs]
    assert all(1 <= wave <= max(1, plan.asked) for wave in plan.wave_of.values())
    first = [found for found in jobs if plan.wave_of[found.name] == 1 and found.name not in plan.spans]
    if plan.asked > 1 and not plan.spans and len(set(plan.wave_of.values())) > 1:
        used: dict[str, float] = {}
        for found in first:
            for name, units in demands(found, capacities):
                used[name] = used.get(name, 0.0) + units * found.predicted_seconds / units_of(name, capacities)
        longest = max((found.predicted_seconds for found in first), default=0.0)
        assert all(load <= plan.budget_seconds + longest + 1e-6 for load in used.values())


def test_what_a_hand_set_export_waits_for_comes_no_later():
    jobs = (job("a", wave=1, depends_on=("b",)), job("b", depends_on=("c",)), job("c", depends_on=("d",)), job("d", wave=1))
    plan = recommend_waves((*jobs, *row([9.0, 9.0])), capacity(1), asked=3)
    assert [plan.wave_of[name] for name in "abcd"] == [1, 1, 1, 1]


def test_waves_are_listed_as_they_run_beside_hand_set_ones():
    jobs = (job("a", wave=7), job("b"), job("c", wave=1), job("d", wave=7, depends_on=("e",)), job("e"))
    plan = recommend_waves(jobs, capacity(1), asked=2)
    assert plan.members() == {1: ("c",), 7: ("a", "d", "e"), LAST_WAVE: ("b",)}
    run = simulate(plan.assign(jobs), capacity(1), POLICIES["waves"])
    assert [found.name for found in run.schedule] == ["c", "a", "e", "d", "b"]
    assert list(run.wave_ends) == [1, 7, LAST_WAVE]
