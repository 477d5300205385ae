"""Turns: who starts only when all others have ended, each alone on its group. The plan and apply take the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rivet_core.api import SchedulingPolicy
from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.resources import group_capacity
from rivet_core.scheduling.simulate import Scheduled, SimulationResult, simulate


def simulate_turns(
    jobs: Sequence[Job], capacities: Capacities, policy: SchedulingPolicy, turn_of: Mapping[str, int]
) -> SimulationResult:
    """Run `jobs` on a virtual clock turn by turn, as apply does. Without one (0) a job is among the first; of a later turn, it
    starts when all of the turn before have ended, alone on its group.
    """
    turns = sorted({turn_of.get(job.name, 0) for job in jobs})
    if turns in ([], [0]):
        return simulate(jobs, capacities, policy)
    schedule: list[Scheduled] = []
    tier_ends: dict[str, float] = {}
    wave_ends: dict[int, float] = {}
    results = []
    before = 0.0
    for turn in turns:
        members = _among([job for job in jobs if turn_of.get(job.name, 0) == turn])
        result = simulate(alone(members, capacities) if turn else members, capacities, policy)
        schedule += [
            Scheduled(name=run.name, start=before + run.start, end=before + run.end, order=len(schedule) + run.order)
            for run in result.schedule
        ]
        tier_ends |= {tier: before + end for tier, end in result.tier_ends.items()}
        wave_ends |= {wave: before + end for wave, end in result.wave_ends.items()}
        before += result.makespan_seconds
        results.append(result)
    return replace(
        results[0],
        makespan_seconds=before,
        bound=lower_bound(jobs, capacities),
        violations=sum(result.violations for result in results),
        messages=tuple(message for result in results for message in result.messages),
        schedule=tuple(schedule),
        tier_ends=tier_ends,
        wave_ends=wave_ends,
    )


def alone(jobs: Sequence[Job], capacities: Capacities) -> list[Job]:
    """Return the jobs with each one taking its whole group."""
    return [replace(job, connections=group_capacity(capacities, job.group).max_connections) for job in jobs]


def _among(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs without what they wait for in earlier turns: it has ended."""
    names = {job.name for job in jobs}
    return [
        job
        if names.issuperset(job.depends_on)
        else replace(job, depends_on=tuple(name for name in job.depends_on if name in names))
        for job in jobs
    ]
