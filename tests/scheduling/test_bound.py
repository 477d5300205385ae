"""The lower bound, against values worked out by hand and against every schedule that hypothesis finds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.scheduling.bound import certificate, duration_text, lower_bound
from rivet_core.scheduling.whatif import with_capacity
from tests.scheduling.campaigns import campaigns, capacity, job, row


def test_m02_four_heavy_exports_with_one_slot_take_their_sum():
    bound = lower_bound(row([600.0] * 4, heavy=True), capacity(4, g=(4, 1)))
    assert bound.seconds == 2400
    assert (bound.binding.kind, bound.binding.name) == ("heavy", "g")
    assert "1 heavy export at once" in bound.binding.explanation


def test_m04_the_giant_is_named_as_the_floor():
    bound = lower_bound(row([51.0, 16, 10, 10, 10, 10, 10]), capacity(4))
    assert bound.seconds == 51
    assert (bound.binding.kind, bound.binding.name) == ("longest", "e0")
    assert bound.load("workers") == pytest.approx(29.25)


def test_packing_one_of_two_workers_must_carry_two_of_the_three_longest():
    bound = lower_bound(row([10.0, 10, 10]), capacity(2))
    assert bound.seconds == 20


def test_packing_looks_beyond_the_first_step():
    # Nine jobs on four workers: one of them carries three, at least the three shortest.
    bound = lower_bound(row([17.0, 17, 17, 16, 10, 10, 10, 10, 10]), capacity(4))
    assert bound.seconds == 30


def test_packing_does_not_apply_where_jobs_take_several_units():
    bound = lower_bound(row([10.0, 10, 10], connections=2), capacity(8, g=(4, 1)))
    assert bound.seconds == 15
    assert bound.binding.kind == "connections"


def test_connections_count_with_their_width():
    bound = lower_bound((job("a", 10, connections=4), job("b", 10, connections=4), job("c", 10)), capacity(8, g=(4, 1)))
    assert bound.seconds == 22.5


def test_the_serial_token_binds():
    bound = lower_bound(row([5.0, 6, 7], serial=True), capacity(4))
    assert (bound.seconds, bound.binding.kind) == (18, "serial")


def test_workers_beyond_all_connections_do_not_count():
    jobs = (*row([10.0] * 4), job("x", 10, group="h"))
    bound = lower_bound(jobs, capacity(16, g=(1, 1), h=(1, 1)))
    assert bound.cap_workers == 2
    assert (bound.seconds, bound.binding.kind, bound.binding.name) == (40, "connections", "g")


def test_a_chain_of_dependencies_is_a_bound_too():
    jobs = (job("a", 5), job("b", 6, depends_on=("a",)), job("c", 7, depends_on=("b",)))
    bound = lower_bound(jobs, capacity(4))
    assert (bound.seconds, bound.binding.kind, bound.binding.name) == (18, "chain", "c")


def test_actual_seconds_replace_predicted_ones():
    assert lower_bound(row([1.0, 1.0]), capacity(1), {"e0": 9.0}).seconds == 10


def test_nothing_to_run():
    bound = lower_bound((), capacity(4))
    assert (bound.seconds, bound.longest, certificate(0.0, bound.seconds)) == (0.0, "", 1.0)


@pytest.mark.parametrize(("seconds", "text"), [(48, "48 s"), (720, "12 min"), (12000, "3 h 20 min"), (7200, "2 h")])
def test_durations_in_words(seconds, text):
    assert duration_text(seconds) == text


@settings(max_examples=60, deadline=None)
@given(campaigns(), st.data())
def test_more_capacity_never_raises_the_bound(campaign, data):
    jobs, capacities = campaign
    names = ["workers", *(f"{kind}:{group}" for kind in ("connections", "heavy") for group in capacities.groups)]
    wider = with_capacity(capacities, data.draw(st.sampled_from(names)), data.draw(st.integers(1, 3)))
    assert lower_bound(jobs, wider).seconds <= lower_bound(jobs, capacities).seconds + 1e-9


@settings(max_examples=40, deadline=None)
@given(campaigns(), st.floats(0.1, 50))
def test_the_bound_scales_with_all_durations(campaign, factor):
    jobs, capacities = campaign
    longer = {one.name: one.predicted_seconds * factor for one in jobs}
    assert lower_bound(jobs, capacities, longer).seconds == pytest.approx(lower_bound(jobs, capacities).seconds * factor)
