"""Chains of exports that wait for each other."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from rivet_core.errors import ConfigError
from rivet_core.scheduling.chains import Chains, longest_chain, longest_path, topological
from tests.scheduling.campaigns import campaigns, job

DIAMOND = (job("d", depends_on=("b", "c")), job("b", depends_on=("a",)), job("c", depends_on=("a", "a")), job("a"))


def test_everything_comes_after_what_it_waits_for():
    order, _ = topological(DIAMOND)
    assert [DIAMOND[place].name for place in order] == ["a", "b", "c", "d"]


def test_the_longest_way_through_counts():
    assert longest_chain(DIAMOND, [1.0, 5.0, 2.0, 10.0]) == ("d", 16.0)


def test_a_job_is_free_when_the_last_it_waits_for_succeeds():
    chains = Chains(DIAMOND)
    assert chains.held == {"b", "c", "d"}
    assert sorted(chains.release("a")) == ["b", "c"]
    assert chains.release("b") == []
    assert chains.release("c") == ["d"]
    assert chains.held == frozenset()


def test_all_that_waits_directly_or_not_is_behind():
    assert sorted(Chains(DIAMOND).behind("a")) == ["b", "c", "d"]


def test_an_export_that_waits_for_itself_is_a_circle():
    with pytest.raises(ConfigError, match="a -> a"):
        topological((job("a", depends_on=("a",)),))


def test_a_long_chain_is_no_recursion():
    jobs = tuple(job(f"e{place}", 1, depends_on=(f"e{place - 1}",) if place else ()) for place in range(5000))
    assert longest_chain(jobs, [1.0] * 5000) == ("e4999", 5000.0)


@given(campaigns())
def test_the_longest_path_is_as_long_as_the_longest_chain(campaign):
    jobs, _ = campaign
    path = longest_path(jobs)
    _, seconds = longest_chain(jobs, [found.predicted_seconds for found in jobs])
    assert sum(found.predicted_seconds for found in path) == pytest.approx(seconds)
    for before, after in pairwise(path):
        assert before.name in after.depends_on
