"""Demands, capacities, and inner parallelism that shrinks to the cap."""

from __future__ import annotations

import pytest

from rivet_core.errors import ConfigError
from rivet_core.scheduling.resources import cap_workers, check_capacities, demands, group_capacity, units_of
from tests.scheduling.campaigns import capacity, job


def test_every_job_takes_one_worker_and_its_own_connections():
    assert demands(job("a", connections=3), capacity(8, g=(4, 1))) == (("workers", 1), ("connections:g", 3))


def test_inner_parallelism_shrinks_to_the_cap_so_that_a_cap_of_one_ends():
    assert demands(job("a", connections=8), capacity(8, g=(1, 1))) == (("workers", 1), ("connections:g", 1))


def test_heavy_and_serial_jobs_take_their_slot():
    taken = dict(demands(job("a", heavy=True, serial=True), capacity(8, g=(4, 1))))
    assert taken == {"workers": 1, "connections:g": 1, "heavy:g": 1, "serial": 1}


def test_a_computed_parallel_safe_is_advice_and_no_resource():
    assert "serial" not in dict(demands(job("a", parallel_safe=False), capacity(8)))


def test_a_group_that_nobody_described_holds_every_worker_and_one_heavy():
    found = group_capacity(capacity(6), "unheard")
    assert (found.max_connections, found.max_heavy, found.assumed) == (6, 1, True)


def test_units_of_each_kind():
    there = capacity(6, g=(4, 2))
    assert [units_of(name, there) for name in ("workers", "connections:g", "heavy:g", "serial")] == [6, 4, 2, 1]


def test_group_names_may_hold_colons():
    there = capacity(6, **{"db:5432": (3, 1)})
    assert units_of("connections:db:5432", there) == 3


def test_cap_workers_counts_each_group_once():
    assert cap_workers(["a", "a", "b"], capacity(8, a=(2, 1), b=(3, 1))) == 5
    assert cap_workers(["a"], capacity(1, a=(2, 1))) == 1


@pytest.mark.parametrize(
    ("there", "path"),
    [(capacity(0), "workers"), (capacity(2, g=(0, 1)), "g.max_connections"), (capacity(2, g=(1, 0)), "g.max_heavy")],
)
def test_a_capacity_below_one_is_refused_by_name(there, path):
    with pytest.raises(ConfigError, match=path):
        check_capacities(there)
