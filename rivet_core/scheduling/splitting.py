"""Splitting: which exports to read over several connections at once, because one of them alone is the lower bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.resources import group_capacity
from rivet_core.scheduling.whatif import MAX_PARTS

MAX_SPLITS = 8
"""At most so many exports of a campaign are split."""

WORTH = 0.02
"""A split that gains less of the bound than this is not offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Export `name` read in `parts` at once; the campaign's lower bound in seconds before and after."""

    name: str
    parts: int
    before_seconds: float
    after_seconds: float


def choose_splits(jobs: Sequence[Job], capacities: Capacities, units: Mapping[str, int]) -> tuple[Split, ...]:
    """Return the splits that bring the bound down, each with the fewest parts that come within 1 % of the best.

    `units` says into how many parts an export can be cut; those that are not in it, or are 1, stay whole. It ends where the
    bound is no longer a single export, or where more parts gain nothing: a group's connections are what the parts share.
    """
    found: dict[str, Split] = {}
    now = list(jobs)
    while len(found) <= MAX_SPLITS:
        bound = lower_bound(now, capacities)
        name = bound.binding.name
        if bound.binding.kind != "longest":
            break
        job = next(job for job in now if job.name == name)
        most = min(MAX_PARTS, units.get(name, 1), group_capacity(capacities, job.group).max_connections)
        tried = {parts: _with(now, widen(job, parts)) for parts in range(job.connections + 1, most + 1)}
        bounds = {parts: lower_bound(changed, capacities).seconds for parts, changed in tried.items()}
        best = min(bounds.values(), default=bound.seconds)
        if best > (1.0 - WORTH) * bound.seconds:
            break
        parts = next(parts for parts, seconds in bounds.items() if seconds <= best * 1.01)
        before = found[name].before_seconds if name in found else bound.seconds
        found[name] = Split(name=name, parts=parts, before_seconds=before, after_seconds=bounds[parts])
        now = tried[parts]
    return tuple(found.values())


def widen(job: Job, parts: int) -> Job:
    """Return `job` read over `parts` connections: as much shorter as it is wider."""
    share = job.connections / parts
    p90 = None if job.p90_seconds is None else job.p90_seconds * share
    return replace(job, connections=parts, predicted_seconds=job.predicted_seconds * share, p90_seconds=p90)


def _with(jobs: Sequence[Job], changed: Job) -> list[Job]:
    return [changed if job.name == changed.name else job for job in jobs]
