"""What-ifs: each row equals the bound of the changed campaign."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.simulate import simulate
from rivet_core.scheduling.whatif import what_ifs, with_capacity
from tests.scheduling.campaigns import POLICIES, campaigns, capacity, job, row, split_job

M04 = row([51.0, 16, 10, 10, 10, 10, 10])


def test_m04_more_slots_change_nothing_and_a_split_does():
    rows = {found.change: found.lower_bound_seconds for found in what_ifs(M04, capacity(4))}
    assert rows == {"workers 5": 51, "e0 split in 2": 29.25, "workers 8 (doubled)": 51}


def test_m04_split_in_three_gives_36_with_four_slots():
    parts = split_job(M04, "e0", 3)
    assert sorted(found.predicted_seconds for found in parts)[-3:] == [17, 17, 17]
    assert simulate(parts, capacity(4), POLICIES["longest-first"]).makespan_seconds == 36


def test_a_wanted_number_of_parts_is_kept():
    assert any(found.change == "e0 split in 3" for found in what_ifs(M04, capacity(4), parts=3))


def test_a_second_heavy_slot_halves_heavy_work():
    rows = {found.change: found.lower_bound_seconds for found in what_ifs(row([600.0] * 4, heavy=True), capacity(4, g=(4, 1)))}
    assert rows["g.max_heavy 2"] == 1200
    assert rows["workers 8 (doubled)"] == 2400


def test_dependants_wait_for_every_part():
    parts = split_job((job("a", 10), job("b", 1, depends_on=("a",))), "a", 2)
    assert parts[-1].depends_on == ("a", "a#2")
    assert lower_bound(parts, capacity(4)).seconds == 6


def test_nothing_to_run_has_no_what_ifs():
    assert what_ifs((), capacity(4)) == ()


@settings(max_examples=60, deadline=None)
@given(campaigns())
def test_each_row_is_the_bound_of_the_changed_campaign(campaign):
    jobs, capacities = campaign
    for found in what_ifs(jobs, capacities):
        if found.kind == "split":
            changed, there = split_job(jobs, found.name, int(found.change.rsplit(" ", 1)[1])), capacities
        elif found.kind == "workers":
            changed, there = jobs, replace(capacities, workers=int(found.change.split()[1]))
        else:
            changed, there = jobs, with_capacity(capacities, f"{found.kind}:{found.name}")
        assert found.lower_bound_seconds == pytest.approx(lower_bound(changed, there).seconds)
