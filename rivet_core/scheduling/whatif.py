"""What-ifs: what the lower bound would be with one thing changed - a capacity, the longest export split, more workers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.bound import LowerBound, lower_bound
from rivet_core.scheduling.resources import CONNECTIONS, HEAVY, WORKERS, group_capacity

MAX_PARTS = 16
"""More parts than this of one export are never suggested."""

MAX_GROUPS = 8
"""Capacity + 1 is tried for this many groups, the ones with the most load first; beyond them nothing changes anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """One change in words and the lower bound it gives. `kind` as in `Binding`, plus `split`; `name` its group or export."""

    change: str
    lower_bound_seconds: float
    kind: str
    name: str = ""


def split_longest(jobs: Sequence[Job], name: str, parts: int) -> tuple[Job, ...]:
    """Return `jobs` with export `name` replaced by `parts` equal ones, each as wide and as heavy as the whole."""
    whole = next(job for job in jobs if job.name == name)
    seconds, p90 = whole.predicted_seconds / parts, None if whole.p90_seconds is None else whole.p90_seconds / parts
    # Dependants wait for the first part only: the bound needs durations, not who exactly waits for whom.
    pieces = [
        replace(whole, name=name if part == 0 else f"{name}#{part + 1}", predicted_seconds=seconds, p90_seconds=p90)
        for part in range(parts)
    ]
    return (*pieces, *(job for job in jobs if job.name != name))


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


def useful_parts(jobs: Sequence[Job], capacities: Capacities, bound: LowerBound) -> int:
    """Return the smallest number of parts of the longest export (2..16) that brings the bound within 1 % of its best."""
    tried = {
        parts: lower_bound(split_longest(jobs, bound.longest, parts), capacities).seconds
        for parts in sorted({2, 3, 4, 6, 8, 12, MAX_PARTS, *_even_parts(jobs, capacities, bound)})
    }
    best = min(tried.values())
    return next(parts for parts, seconds in tried.items() if seconds <= best * 1.01)


def what_ifs(
    jobs: Sequence[Job], capacities: Capacities, *, bound: LowerBound | None = None, parts: int | None = None
) -> tuple[WhatIf, ...]:
    """Return the bound with each capacity + 1, with the longest export split, with the workers doubled, in that order.

    `parts` fixes the number of parts; without it the smallest useful number is taken.
    """
    if not jobs:
        return ()
    bound = bound or lower_bound(jobs, capacities)
    changes = []
    resources = [term.resource for term in bound.terms if term.resource.startswith((CONNECTIONS, HEAVY))]
    groups: dict[str, None] = dict.fromkeys(resource.partition(":")[2] for resource in resources)
    shown = set(list(groups)[:MAX_GROUPS])
    for resource in [WORKERS, *(found for found in resources if found.partition(":")[2] in shown)]:
        wider = with_capacity(capacities, resource)
        seconds = lower_bound(jobs, wider).seconds
        kind, _, name = resource.partition(":")
        changes.append(WhatIf(change=_describe(resource, wider), lower_bound_seconds=seconds, kind=kind, name=name))
    if bound.longest_seconds > 0:
        count = parts or useful_parts(jobs, capacities, bound)
        seconds = lower_bound(split_longest(jobs, bound.longest, count), capacities).seconds
        text = f"{bound.longest} split in {count}"
        changes.append(WhatIf(change=text, lower_bound_seconds=seconds, kind="split", name=bound.longest))
    doubled = replace(capacities, workers=2 * capacities.workers)
    text = f"workers {doubled.workers} (doubled)"
    changes.append(WhatIf(change=text, lower_bound_seconds=lower_bound(jobs, doubled).seconds, kind=WORKERS))
    return tuple(changes)


def _even_parts(jobs: Sequence[Job], capacities: Capacities, bound: LowerBound) -> tuple[int, ...]:
    """The number of parts at which the longest export stops being the floor."""
    rest = max((term.load for term in bound.terms), default=0.0)
    if rest <= 0:
        return ()
    parts = math.ceil(bound.longest_seconds / rest)
    return (parts,) if 2 <= parts <= MAX_PARTS else ()


def _describe(resource: str, wider: Capacities) -> str:
    if resource == WORKERS:
        return f"workers {wider.workers}"
    kind, _, group = resource.partition(":")
    capacity = wider.groups[group]
    if kind + ":" == CONNECTIONS:
        return f"{group}.max_connections {capacity.max_connections}"
    return f"{group}.max_heavy {capacity.max_heavy}"
