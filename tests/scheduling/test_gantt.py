"""The schedule as plain text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_core.scheduling.gantt import draw_gantt
from rivet_core.scheduling.simulate import simulate
from tests.scheduling.campaigns import POLICIES, campaigns, capacity, job


def test_one_line_per_lane():
    jobs = (job("orders", 40, heavy=True), job("items", 20), job("x", 20, group="shop"))
    picture = draw_gantt(simulate(jobs, capacity(4, g=(2, 1), shop=(1, 1)), POLICIES["bottleneck"]), jobs, width=50)
    assert picture.splitlines() == [
        "g 1    |#orders##################################|",
        "g 2    |=items==============                     |",
        "shop 1 |=x==================                     |",
        "        0" + " " * 36 + "40 s",
    ]


def test_nothing_to_draw():
    assert draw_gantt(simulate((), capacity(1), POLICIES["fifo"]), ()) == "nothing to run"


@settings(max_examples=60, deadline=None)
@given(campaigns(), st.integers(0, 200))
def test_no_line_is_wider_than_asked(campaign, width):
    jobs, capacities = campaign
    picture = draw_gantt(simulate(jobs, capacities, POLICIES["bottleneck"]), jobs, width=width, max_lines=5)
    assert all(len(line) <= max(40, width) + 26 for line in picture.splitlines())
    assert picture.isascii()
    assert len(picture.splitlines()) <= 7
