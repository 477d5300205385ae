"""Splitting: M04's numbers, and what limits it."""

from __future__ import annotations

import pytest

from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.shares import SplitIn, with_shares
from rivet_core.scheduling.simulate import simulate
from rivet_core.scheduling.splitting import choose_splits
from tests.scheduling.campaigns import POLICIES, capacity, job, row

M04 = row([51.0, 16.0, 10.0, 10.0, 10.0, 10.0, 10.0])


def test_m04_the_giant_is_named_with_its_parts_and_the_gain():
    (split,) = choose_splits(M04, capacity(4, g=(6, 8)), {"e0": 100})
    assert (split.name, split.before_seconds) == ("e0", 51.0)
    assert (split.shares, split.after_seconds) == (2, 29.25)  # four workers share 117 s
    shared = with_shares(M04, {"e0": SplitIn(units=100, shares=split.shares)})
    assert simulate(shared, capacity(4, g=(6, 8)), POLICIES["bottleneck"]).makespan_seconds == 35.5


def test_shares_have_the_connections_of_their_group():
    (split,) = choose_splits(M04, capacity(4, g=(2, 8)), {"e0": 100}) or (None,)
    assert split is None  # two connections are full of work anyway: 58.5 s


def test_shares_have_the_workers():
    jobs = (job("giant", 100.0), job("small", 1.0))
    (split,) = choose_splits(jobs, capacity(3, g=(8, 1)), {"giant": 50})
    assert (split.shares, split.after_seconds) == (3, 34.0)  # 17 of 50 units


def test_the_shares_of_a_heavy_export_hold_one_slot_together():
    jobs = (job("giant", 100.0, heavy=True), job("other", 10.0))
    (split,) = choose_splits(jobs, capacity(4, g=(8, 1)), {"giant": 50})
    assert (split.shares, split.after_seconds) == (7, 28.0)


def test_no_more_parts_than_units_and_none_for_what_has_none():
    jobs = (job("giant", 100.0), job("small", 1.0))
    (split,) = choose_splits(jobs, capacity(4, g=(8, 1)), {"giant": 3})
    assert split.shares == 3
    assert choose_splits(jobs, capacity(4, g=(8, 1)), {}) == ()
    assert choose_splits(jobs, capacity(4, g=(8, 1)), {"giant": 1}) == ()


def test_what_is_wide_already_is_split_further_only():
    jobs = (job("giant", 100.0, connections=2), job("small", 1.0))
    (split,) = choose_splits(jobs, capacity(4, g=(4, 1)), {"giant": 9})
    assert (split.shares, split.before_seconds) == (3, 100.0)
    assert split.after_seconds == pytest.approx(200.0 / 3)  # of nine units, four shares would have 3, 2, 2 and 2


def test_the_longest_of_a_chain_is_split():
    jobs = (job("first", 5.0), job("giant", 90.0, depends_on=("first",)), job("last", 5.0, depends_on=("giant",)))
    (split,) = choose_splits(jobs, capacity(4, g=(3, 1)), {"giant": 9, "first": 9})
    assert (split.name, split.shares, split.before_seconds, split.after_seconds) == ("giant", 3, 100.0, 40.0)


def test_two_giants_are_both_split():
    jobs = (job("a", 100.0, group="x"), job("b", 90.0, group="y"), job("c", 1.0, group="y"))
    splits = choose_splits(jobs, capacity(8, x=(4, 1), y=(4, 1)), {"a": 9, "b": 9})
    assert {split.name for split in splits} == {"a", "b"}
    by_name = {split.name: split.shares for split in splits}
    changed = with_shares(jobs, {name: SplitIn(units=9, shares=parts) for name, parts in by_name.items()})
    assert lower_bound(changed, capacity(8, x=(4, 1), y=(4, 1))).seconds < 50.0
