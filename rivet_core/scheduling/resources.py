"""Resources: what jobs share, how many units there are, and how many a job takes while it runs.

Four kinds, by name: `workers` (every job takes exactly one), `connections:<group>` (a job takes its own parallelism, cut to
the group's cap so that a cap of 1 always ends), `heavy:<group>` (one, if the job is heavy) and `serial` (the one token that
jobs declared `parallel_safe: false` pass around).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

from rivet_core.errors import ConfigError
from rivet_core.facts import Capacities, GroupCapacity, Job

WORKERS = "workers"
SERIAL = "serial"
CONNECTIONS = "connections:"
HEAVY = "heavy:"

Demands: TypeAlias = tuple[tuple[str, int], ...]
"""Pairs of resource name and units taken, in a fixed order; equal demands compare equal."""


def group_capacity(capacities: Capacities, group: str) -> GroupCapacity:
    """Return the capacity of `group`; one that nobody described holds every worker and one heavy export."""
    found = capacities.groups.get(group)
    return found if found is not None else GroupCapacity(max_connections=capacities.workers, assumed=True)


def check_capacities(capacities: Capacities) -> None:
    """Raise `ConfigError` when a capacity is below 1, because such a campaign could never end."""
    if capacities.workers < 1:
        raise ConfigError(f"workers is {capacities.workers}", hint="use at least 1 worker")
    for name, group in capacities.groups.items():
        for key, units in (("max_connections", group.max_connections), ("max_heavy", group.max_heavy)):
            if units < 1:
                raise ConfigError(f"source_groups.{name}.{key} is {units}", hint=f"use at least 1 for {key}")


@lru_cache(maxsize=65536)
def resource_names(group: str, heavy: bool, serial: bool) -> tuple[str, ...]:
    """Return the names of the resources besides `workers` that such a job takes."""
    names = [CONNECTIONS + group]
    if heavy:
        names.append(HEAVY + group)
    if serial:
        names.append(SERIAL)
    return tuple(names)


def demands(job: Job, capacities: Capacities) -> Demands:
    """Return what `job` takes while it runs. Its inner parallelism shrinks to the cap of its group."""
    connections = min(max(1, job.connections), group_capacity(capacities, job.group).max_connections)
    return _demands(job.group, connections, job.heavy, job.serial)


@lru_cache(maxsize=65536)
def _demands(group: str, connections: int, heavy: bool, serial: bool) -> Demands:
    names = resource_names(group, heavy, serial)
    return ((WORKERS, 1), (names[0], connections), *((name, 1) for name in names[1:]))


def work_units(job: Job, capacities: Capacities) -> tuple[tuple[str, float], ...]:
    """Return what `job` adds to each resource per second of its own: its demands, and of a slot that it shares its part.

    The shares of an export hold one heavy slot at least as long as the longest of them takes, so no less than their mean.
    """
    takes = demands(job, capacities)
    if job.shares < 2 or not job.heavy:
        return takes
    return tuple((name, units / job.shares if name.startswith(HEAVY) else units) for name, units in takes)


def units_of(resource: str, capacities: Capacities) -> int:
    """Return how many units of `resource` there are."""
    if resource == WORKERS:
        return capacities.workers
    if resource == SERIAL:
        return 1
    kind, _, group = resource.partition(":")
    capacity = group_capacity(capacities, group)
    return capacity.max_connections if kind + ":" == CONNECTIONS else capacity.max_heavy


def cap_workers(groups: Iterable[str], capacities: Capacities) -> int:
    """Return how many jobs of these groups can run at once: `min(workers, sum of max_connections)`."""
    connections = sum(group_capacity(capacities, group).max_connections for group in set(groups))
    return min(capacities.workers, connections) if connections else capacities.workers


def scarce_resources(used: Mapping[str, int], workers: int) -> frozenset[str]:
    """Return the resources, given as name -> units, that can hold back one of `workers` workers."""
    return frozenset(name for name, units in used.items() if units < workers)


def is_promised(job: Job) -> bool:
    """Return whether somebody waits for this export: declared tier high, or a deadline inside the window."""
    return job.tier == "high" or job.deadline
