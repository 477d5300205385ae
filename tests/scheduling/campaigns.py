"""Jobs for the tests of this room: short builders, and hypothesis strategies for whole campaigns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from rivet_core.builtin.policies import builtin_policies
from rivet_core.facts import Capacities, GroupCapacity, Job
from rivet_core.scheduling.shares import SplitIn, with_shares

POLICIES = {policy.name: policy for policy in builtin_policies()}


def job(name: str, seconds: float = 10.0, *, group: str = "g", **more: Any) -> Job:
    return Job(name=name, group=group, predicted_seconds=seconds, **more)


def row(durations: list[float], **more: Any) -> tuple[Job, ...]:
    """Jobs e0, e1, ... of these durations in one group."""
    return tuple(job(f"e{place}", seconds, position=place, rank=place, **more) for place, seconds in enumerate(durations))


def capacity(workers: int, **groups: tuple[int, int]) -> Capacities:
    """Workers, and per group (max_connections, max_heavy)."""
    return Capacities(
        workers=workers,
        groups={name: GroupCapacity(max_connections=slots, max_heavy=heavy) for name, (slots, heavy) in groups.items()},
    )


def draw_campaign(seed: int, count: int) -> tuple[tuple[Job, ...], Capacities]:
    """Any campaign: capacities from 1 up, inner parallelism beyond the cap, serial exports, waves, dependencies."""
    rng = random.Random(seed)
    groups = rng.sample("abcd", rng.randint(1, 4))
    held = {  # the first of several groups has no declared capacity
        name: GroupCapacity(max_connections=rng.randint(1, 4), max_heavy=rng.randint(1, 4)) for name in groups[1:] or groups
    }
    chained = rng.random() < 0.5
    jobs = tuple(
        Job(
            name=f"e{place}",
            group=rng.choice(groups),
            predicted_seconds=rng.choice([0.0, 1.0, 2.0, 5.0, 5.0, 17.5, 60.0]),
            p90_seconds=rng.choice([None, 20.0]),
            connections=rng.choice([1, 1, 2, 6]),
            heavy=rng.random() < 0.5,
            serial=rng.random() < 0.15,
            parallel_safe=rng.random() < 0.6,
            tier=rng.choice(["low", "normal", "high"]),
            deadline=rng.random() < 0.1,
            wave=rng.choice([None, None, 1, 2, 7]),
            rank=rng.randint(0, 9),
            position=place,
            last_success=rng.choice([None, 1.0, 2.0]),
            depends_on=tuple(f"e{rng.randrange(place)}" for _ in range(rng.randint(0, 2))) if chained and place else (),
        )
        for place in range(count)
    )
    return jobs, Capacities(workers=rng.randint(1, 5), groups=held)


def split_some(jobs: Sequence[Job], seed: int) -> tuple[Job, ...]:
    """Return `jobs` with up to three exports split into shares."""
    rng = random.Random(seed)
    names = rng.sample([found.name for found in jobs], k=min(len(jobs), rng.randint(0, 3)))
    return with_shares(jobs, {name: SplitIn(units=rng.randint(1, 9), shares=rng.randint(1, 6)) for name in names})


def campaigns(max_jobs: int = 25) -> st.SearchStrategy[tuple[tuple[Job, ...], Capacities]]:
    """Campaigns by seed and size: hypothesis shrinks towards few jobs."""
    return st.builds(draw_campaign, st.integers(0, 2**32), st.integers(0, max_jobs))


def split_job(jobs: Sequence[Job], name: str, parts: int) -> tuple[Job, ...]:
    """Return `jobs` with export `name` replaced by `parts` equal ones, each as wide and as heavy; dependants wait for all."""
    found: list[Job] = []
    names = tuple(name if part == 0 else f"{name}#{part + 1}" for part in range(parts))
    for job in jobs:
        if job.name == name:
            p90 = None if job.p90_seconds is None else job.p90_seconds / parts
            found += [
                replace(job, name=part, predicted_seconds=job.predicted_seconds / parts, p90_seconds=p90) for part in names
            ]
        elif name in job.depends_on:
            found.append(replace(job, depends_on=tuple(dict.fromkeys((*job.depends_on, *names)))))
        else:
            found.append(job)
    return tuple(found)
