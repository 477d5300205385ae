"""What-ifs: what the lower bound would be with one thing changed - a capacity, the longest export split, more workers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.chains import longest_chain
from rivet_core.scheduling.loads import Load, collect_loads
from rivet_core.scheduling.resources import CONNECTIONS, HEAVY, WORKERS, cap_workers, group_capacity, units_of, work_units

MAX_PARTS = 16
"""More parts than this of one export are never suggested."""

MAX_CAPACITY_ROWS = 12
"""Capacity + 1 is shown for this many resources, the most loaded first: raising any other changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """One change in words and the lower bound it gives. `kind` as in `Binding`, plus `split`; `name` its group or export."""

    change: str
    lower_bound_seconds: float
    kind: str
    name: str = ""


def with_capacity(capacities: Capacities, resource: str, extra: int = 1) -> Capacities:
    """Return `capacities` with `extra` more units of `resource`."""
    if resource == WORKERS:
        return replace(capacities, workers=capacities.workers + extra)
    kind, _, group = resource.partition(":")
    now = group_capacity(capacities, group)
    if kind + ":" == CONNECTIONS:
        changed = replace(now, max_connections=now.max_connections + extra)
    else:
        changed = replace(now, max_heavy=now.max_heavy + extra)
    return replace(capacities, groups={**capacities.groups, group: changed})


def what_ifs(jobs: Sequence[Job], capacities: Capacities, *, parts: int | None = None) -> tuple[WhatIf, ...]:
    """Return the bound with each capacity + 1, with the longest export split, with the workers doubled, in that order.

    `parts` fixes the number of parts; without it the smallest number is taken that brings the bound within 1 % of what
    splitting can reach. A group that already holds every worker has no connections row.
    """
    return _Model(jobs, capacities).rows(parts) if jobs else ()


class _Model:
    """The bound of one campaign, term by term, so that a change recomputes only the terms it touches."""

    def __init__(self, jobs: Sequence[Job], capacities: Capacities) -> None:
        self._jobs, self._capacities = jobs, capacities
        self._durations = [max(0.0, job.predicted_seconds) for job in jobs]
        self._groups = {job.group for job in jobs}
        self._loads = collect_loads(jobs, self._durations, capacities)
        self._units = {
            name: cap_workers(self._groups, capacities) if name == WORKERS else units_of(name, capacities)
            for name in self._loads
        }
        self._terms = {name: load.seconds(self._units[name]) for name, load in self._loads.items()}
        self._bound = lower_bound(jobs, capacities)
        self._longest = next(place for place, job in enumerate(jobs) if job.name == self._bound.longest)
        self._floor = max(self._bound.longest_seconds, longest_chain(jobs, self._durations)[1])

    def rows(self, parts: int | None) -> tuple[WhatIf, ...]:
        found = [
            WhatIf(change=f"workers {self._capacities.workers + 1}", lower_bound_seconds=self._more_workers(1), kind=WORKERS)
        ]
        for term in self._bound.terms:
            kind, _, group = term.resource.partition(":")
            if kind + ":" not in (CONNECTIONS, HEAVY) or term.units >= self._capacities.workers:
                continue
            if len(found) > MAX_CAPACITY_ROWS:
                break
            key = "max_connections" if kind + ":" == CONNECTIONS else "max_heavy"
            text = f"{group}.{key} {term.units + 1}"
            found.append(WhatIf(change=text, lower_bound_seconds=self._wider(term.resource), kind=kind, name=group))
        if self._bound.longest_seconds > 0:
            count = parts or self._useful_parts()
            text = f"{self._bound.longest} split in {count}"
            found.append(WhatIf(change=text, lower_bound_seconds=self._split(count), kind="split", name=self._bound.longest))
        doubled = 2 * self._capacities.workers
        seconds = self._more_workers(self._capacities.workers)
        found.append(WhatIf(change=f"workers {doubled} (doubled)", lower_bound_seconds=seconds, kind=WORKERS))
        return tuple(found)

    def _wider(self, resource: str) -> float:
        """The bound with one more unit of a group's `resource`."""
        wider = with_capacity(self._capacities, resource)
        load = self._loads[resource]
        if resource.startswith(CONNECTIONS):
            load = self._connections(resource, wider)
        changed = {
            WORKERS: self._loads[WORKERS].seconds(cap_workers(self._groups, wider)),
            resource: load.seconds(units_of(resource, wider)),
        }
        return self._maximum(self._floor, changed)

    def _more_workers(self, extra: int) -> float:
        """The bound with more workers, from scratch: groups without a capacity of their own widen with them."""
        return lower_bound(self._jobs, with_capacity(self._capacities, WORKERS, extra)).seconds

    def _connections(self, resource: str, wider: Capacities) -> Load:
        """The load of a group's connections under another cap: jobs that were cut to the old one grow."""
        group = resource.removeprefix(CONNECTIONS)
        load = Load()
        for job, seconds in zip(self._jobs, self._durations, strict=True):
            if job.group == group:
                load.add(dict(work_units(job, wider))[resource], seconds)
        return load

    def _split(self, parts: int) -> float:
        """The bound with the longest export in `parts` equal parts."""
        whole = self._jobs[self._longest]
        durations = list(self._durations)
        seconds = durations[self._longest]
        durations[self._longest] = seconds / parts
        floor = max(max(durations), longest_chain(self._jobs, durations)[1])
        changed = {
            name: self._loads[name].split(seconds, parts).seconds(self._units[name])
            for name, units in work_units(whole, self._capacities)
            if units >= 1
        }
        return self._maximum(floor, changed)

    def _useful_parts(self) -> int:
        rest = max(self._terms.values())
        even = math.ceil(self._bound.longest_seconds / rest) if rest > 0 else 2
        candidates = sorted({2, 3, 4, 6, 8, 12, MAX_PARTS, min(MAX_PARTS, max(2, even))})
        tried = {parts: self._split(parts) for parts in candidates}
        best = min(tried.values())
        return next(parts for parts, seconds in tried.items() if seconds <= best * 1.01)

    def _maximum(self, floor: float, changed: dict[str, float]) -> float:
        kept = (seconds for name, seconds in self._terms.items() if name not in changed)
        return max(floor, *changed.values(), *kept)
