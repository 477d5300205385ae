"""Splitting: which exports become several schedule entries, because one of them alone is the lower bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.bound import Binding, lower_bound
from rivet_core.scheduling.chains import longest_path
from rivet_core.scheduling.resources import group_capacity
from rivet_core.scheduling.shares import SplitIn, with_shares
from rivet_core.scheduling.whatif import MAX_PARTS

MAX_SPLITS = 8
"""At most so many exports of a campaign are split."""

WORTH = 0.02
"""A split that gains less of the bound than this is not offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Export `name` in so many `shares`; the campaign's lower bound in seconds before and after."""

    name: str
    shares: int
    before_seconds: float
    after_seconds: float


def choose_splits(jobs: Sequence[Job], capacities: Capacities, units: Mapping[str, int]) -> tuple[Split, ...]:
    """Return the splits that bring the bound down, each with the fewest shares that come within 1 % of the best.

    `units` says how many units an export has; those that are not in it, or have 1, stay whole. It ends where the bound is no
    longer a single export (nor a chain, of which the longest export counts), or where more shares gain nothing: workers and the
    group's connections are what they share.
    """
    found: dict[str, Split] = {}
    now = list(jobs)
    while len(found) <= MAX_SPLITS:
        bound = lower_bound(now, capacities)
        name = _giant(now, bound.binding)
        if not name:
            break
        job = next(job for job in jobs if job.name == name)
        known = {split.name: SplitIn(units=units[split.name], shares=split.shares) for split in found.values()}
        least = found[name].shares if name in found else job.connections
        most = min(MAX_PARTS, units.get(name, 1), group_capacity(capacities, job.group).max_connections)
        tried = {
            shares: with_shares(jobs, {**known, name: SplitIn(units=units[name], shares=shares)})
            for shares in range(least + 1, most + 1)
        }
        bounds = {shares: lower_bound(changed, capacities).seconds for shares, changed in tried.items()}
        best = min(bounds.values(), default=bound.seconds)
        if best > (1.0 - WORTH) * bound.seconds:
            break
        shares = next(shares for shares, seconds in bounds.items() if seconds <= best * 1.01)
        before = found[name].before_seconds if name in found else bound.seconds
        found[name] = Split(name=name, shares=shares, before_seconds=before, after_seconds=bounds[shares])
        now = list(tried[shares])
    return tuple(found.values())


def _giant(jobs: Sequence[Job], binding: Binding) -> str:
    """Return the export that is the bound, or most of it; empty when it is a resource that all share."""
    if binding.kind == "longest":
        return next(job.export for job in jobs if job.name == binding.name)
    if binding.kind == "chain":
        return max(longest_path(jobs), key=lambda job: (job.predicted_seconds, job.name)).export
    return ""
