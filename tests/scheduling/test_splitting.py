"""Splitting: M04's numbers, and what limits it."""

from __future__ import annotations

from dataclasses import replace

from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.simulate import simulate
from rivet_core.scheduling.splitting import choose_splits, widen
from tests.scheduling.campaigns import POLICIES, capacity, job, row

M04 = row([51.0, 16.0, 10.0, 10.0, 10.0, 10.0, 10.0])


def test_m04_the_giant_is_named_with_its_parts_and_the_gain():
    (split,) = choose_splits(M04, capacity(4, g=(6, 8)), {"e0": 100})
    assert (split.name, split.before_seconds) == ("e0", 51.0)
    assert (split.parts, split.after_seconds) == (4, 20.0)  # one worker still, over four connections
    changed = tuple(widen(found, split.parts) if found.name == "e0" else found for found in M04)
    assert simulate(changed, capacity(4, g=(6, 8)), POLICIES["bottleneck"]).makespan_seconds < 0.6 * 51.0


def test_parts_share_the_connections_of_their_group():
    (split,) = choose_splits(M04, capacity(4, g=(2, 8)), {"e0": 100}) or (None,)
    assert split is None  # two connections are full of work anyway: 58.5 s


def test_no_more_parts_than_units_and_none_for_what_has_none():
    jobs = (job("giant", 100.0), job("small", 1.0))
    (split,) = choose_splits(jobs, capacity(4, g=(8, 1)), {"giant": 3})
    assert split.parts == 3
    assert choose_splits(jobs, capacity(4, g=(8, 1)), {}) == ()
    assert choose_splits(jobs, capacity(4, g=(8, 1)), {"giant": 1}) == ()


def test_what_is_wide_already_is_widened_on():
    jobs = (job("giant", 100.0, connections=2), job("small", 1.0))
    (split,) = choose_splits(jobs, capacity(4, g=(4, 1)), {"giant": 9})
    assert (split.parts, split.after_seconds) == (4, 50.25)


def test_two_giants_are_both_split():
    jobs = (job("a", 100.0, group="x"), job("b", 90.0, group="y"), job("c", 1.0, group="y"))
    splits = choose_splits(jobs, capacity(8, x=(4, 1), y=(4, 1)), {"a": 9, "b": 9})
    assert {split.name for split in splits} == {"a", "b"}
    by_name = {split.name: split.parts for split in splits}
    changed = [widen(found, by_name[found.name]) if found.name in by_name else replace(found) for found in jobs]
    assert lower_bound(changed, capacity(8, x=(4, 1), y=(4, 1))).seconds < 50.0
