"""Who waits for what: every reason that keeps an export from starting, in words that name the holder."""

from __future__ import annotations

import pytest

from rivet_core.api import SchedulingPolicy
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.waiting import why_waiting
from tests.scheduling.campaigns import POLICIES, capacity, job, row


def said(jobs, capacities, policy=POLICIES["fifo"], *, drain=""):
    dispatcher = Dispatcher(jobs, capacities, policy)
    while dispatcher.claim() is not None:
        pass
    if drain:
        dispatcher.drain(drain)
    return [str(found) for found in why_waiting(dispatcher)]


@pytest.mark.parametrize(
    ("jobs", "capacities", "policy", "text"),
    [
        (
            row([1.0, 1], connections=4),
            capacity(4, g=(1, 1)),
            "fifo",
            "e1 waits for 1 connection of group g, out of 1: e0 has 1",
        ),
        (
            row([1.0, 1], connections=3),
            capacity(4, g=(4, 1)),
            "fifo",
            "e1 waits for 3 connections of group g, out of 4: e0 has 3",
        ),
        (row([1.0, 1], heavy=True), capacity(4, g=(4, 1)), "fifo", "e1 waits for 1 heavy slot of group g, out of 1: e0 has 1"),
        (row([1.0, 1], serial=True), capacity(4), "fifo", "e1 waits for the serial token, out of 1: e0 has 1"),
        (row([1.0, 1, 1]), capacity(2), "fifo", "e2 waits for a worker, out of 2: e0 has 1, e1 has 1"),
        ((job("a"), job("b", depends_on=("a",))), capacity(4), "fifo", "b waits for a (depends_on)"),
        ((job("a", wave=1), job("b", wave=2), job("c")), capacity(4), "waves", "b, c wait for the end of wave 1"),
        (
            row([1.0] * 6, connections=1),
            capacity(8, g=(1, 1)),
            "fifo",
            "e1, e2, e3 and 2 more wait for 1 connection of group g, out of 1: e0 has 1",
        ),
    ],
)
def test_what_an_export_waits_for(jobs, capacities, policy, text):
    assert said(jobs, capacities, POLICIES[policy]) == [text]


def test_different_reasons_are_told_apart():
    jobs = (job("a"), job("b"), job("c", depends_on=("b",)), job("d", group="h"))
    assert said(jobs, capacity(1, g=(1, 1), h=(1, 1))) == [
        "b, d wait for a worker, out of 1: a has 1",
        "c waits for b (depends_on)",
    ]


def test_a_policy_that_waits_and_a_campaign_that_ends():
    one = SchedulingPolicy(
        name="one",
        summary="",
        order=lambda jobs, capacities: [found.name for found in jobs],
        next=lambda state: None if state.running else state.heads[0].name,
    )
    assert said(row([1.0, 1]), capacity(4), one) == ["e1 waits for its turn: the policy lets others pass"]
    assert said(row([1.0, 1]), capacity(1), drain="fail_fast: e0 failed") == [
        "e1 waits for nothing: none starts any more (fail_fast: e0 failed)"
    ]


def test_nothing_waits_when_all_have_started():
    assert said(row([1.0, 1]), capacity(4)) == []
