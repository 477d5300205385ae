"""The Rust tool's rules on our campaigns.

Its pool takes the longest predicted export first and runs those that are not parallel safe one at a time, by one token; its
waves are four packs of equal count in rank order, behind barriers. It knows no groups: makespans here are under our capacities,
which it is spared to break, and `most_above_caps` says by how much it would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.schedule.families import POLICIES, Instance
from rivet_core.api import SchedulingPolicy
from rivet_core.builtin.policies import choose_longest, order_by_length
from rivet_core.facts import Capacities, GroupCapacity, Job
from rivet_core.scheduling.simulate import Scheduled, SimulationResult, simulate

PACKED = SchedulingPolicy(
    name="rust-waves",
    summary="barriers, longest first inside, not parallel_safe one at a time",
    order=order_by_length,
    next=choose_longest,
    waves=True,
)
WAVES = 4


def rust_pool(instance: Instance) -> SimulationResult:
    """Return the campaign under its pool rule and our capacities."""
    return simulate(instance.jobs, instance.capacities, POLICIES["longest-first"], instance.actual)


def rust_waves(instance: Instance) -> SimulationResult:
    """Return the campaign in its packed waves under our capacities."""
    return simulate(packed_waves(instance), instance.capacities, PACKED, instance.actual)


def packed_waves(instance: Instance) -> tuple[Job, ...]:
    """Return the jobs cut into four waves of equal count in rank order, as the Rust tool packs them."""
    ordered = sorted(instance.jobs, key=lambda job: job.rank)
    wave = {job.name: 1 + WAVES * place // len(ordered) for place, job in enumerate(ordered)}
    return tuple(replace(job, wave=wave[job.name]) for job in instance.jobs)


def most_above_caps(instance: Instance) -> tuple[int, int]:
    """Return how many connections, and how many heavy exports, its packed waves hold above a group's cap at the worst moment.

    Inside a wave it starts whatever a worker is free for.
    """
    workers = instance.capacities.workers
    free = {name: GroupCapacity(max_connections=workers, max_heavy=workers) for name in instance.capacities.groups}
    plain = replace(PACKED, next=None)
    result = simulate(packed_waves(instance), Capacities(workers=workers, groups=free), plain, instance.actual)
    heavy = {job.name for job in instance.jobs if job.heavy}
    group = {job.name: job.group for job in instance.jobs}
    connections = slots = 0
    for name, capacity in instance.capacities.groups.items():
        members = [one for one in result.schedule if group[one.name] == name]
        connections = max(connections, _at_once(members) - capacity.max_connections)
        slots = max(slots, _at_once([one for one in members if one.name in heavy]) - capacity.max_heavy)
    return connections, slots


def _at_once(schedule: Sequence[Scheduled]) -> int:
    """Return how many run at the busiest moment; an end frees before a start of the same moment takes."""
    moves: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for one in schedule:
        moves[one.end][0] -= 1
        moves[one.start][1] += 1
    level = most = 0
    for _, (ends, starts) in sorted(moves.items()):
        level += ends + starts
        most = max(most, level)
    return most
