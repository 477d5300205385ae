"""Seeded campaigns: nine families of 40 and five of 10,000 exports, plus the hard set of T11.

Sizes are log-normal. 85 % of the exports have history, so their prediction is off by sigma 0.2 (log-normal); the rest by 0.8.
Everything follows from family and seed, so two runs compare the same campaigns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rivet_core.builtin.policies import builtin_policies
from rivet_core.facts import Capacities, GroupCapacity, Job
from rivet_core.scheduling.simulate import SimulationResult, simulate

POLICIES = {policy.name: policy for policy in builtin_policies()}

KNOWN_SHARE = 0.85
KNOWN_SIGMA = 0.2
UNKNOWN_SIGMA = 0.8
KNOWN_SPREAD = 1.3
UNKNOWN_SPREAD = 3.0
"""p90 over p50, as the prediction gives them with and without history."""

HIGH_SHARE = 0.10


@dataclass(frozen=True)
class Instance:
    """A campaign with its true durations in seconds by name."""

    family: str
    seed: int
    jobs: tuple[Job, ...]
    capacities: Capacities
    actual: dict[str, float]


@dataclass(frozen=True)
class Shape:
    """What a family looks like. `heavy` is the share of heavy exports; `by_size` picks the longest, else any."""

    exports: tuple[int, int]
    workers: tuple[int, ...]
    groups: int
    connections: tuple[int, ...]
    slots: tuple[int, ...]
    sigma: float
    heavy: float = 0.0
    by_size: bool = True
    giants: int = 0
    narrow: bool = False
    known: float = KNOWN_SHARE


SHAPES = {
    "even": Shape((150, 400), (4, 8), 3, (4, 8), (1, 2), sigma=0.4),
    "tail": Shape((150, 400), (4, 8), 4, (3, 4, 6), (1, 2), sigma=1.5, heavy=0.05),
    "giants": Shape((150, 400), (4, 8), 3, (4, 8), (1, 2), sigma=1.0, heavy=0.03, giants=3),
    "replica": Shape((150, 400), (8,), 1, (3, 4, 6), (1, 2), sigma=1.2, heavy=0.10),
    "tight": Shape((150, 400), (4, 6), 8, (2, 4), (1,), sigma=1.0, heavy=1.0),
    "mixed": Shape((2000, 2000), (8, 16), 12, (2, 4, 8), (1, 2), sigma=1.4, heavy=0.10),
    "narrow": Shape((150, 400), (8,), 4, (4, 8), (1, 2), sigma=1.0, heavy=0.05, narrow=True),
    "scan": Shape((150, 400), (6, 8), 4, (4, 6), (1, 2), sigma=1.2, heavy=0.25, by_size=False),
    "firstrun": Shape((150, 400), (4, 8), 3, (4, 8), (1, 2), sigma=1.2, heavy=0.08, known=0.0),
    "small10k": Shape((10000, 10000), (8, 16), 20, (2, 4, 8), (1, 2), sigma=1.2, heavy=0.05),
}
HARD = Shape((70, 70), (4,), 6, (4,), (1,), sigma=1.0, heavy=1.0)


def campaigns(per_family: int, small10k: int) -> Iterator[Instance]:
    """Yield `per_family` campaigns of each of the nine families, then `small10k` big ones."""
    for family in SHAPES:
        for seed in range(small10k if family == "small10k" else per_family):
            yield draw(family, seed)


def hard_set(count: int) -> Iterator[Instance]:
    """Yield the hard set of T11: one heavy export per group at a time, 4 workers, 6 groups, 70 heavy exports."""
    for seed in range(count):
        yield draw("hard", seed)


def draw(family: str, seed: int) -> Instance:
    """Return one campaign."""
    shape = HARD if family == "hard" else SHAPES[family]
    rng = random.Random(f"{family}:{seed}")
    count = rng.randint(*shape.exports)
    workers = rng.choice(shape.workers)
    groups = {
        f"g{place}": GroupCapacity(max_connections=rng.choice(shape.connections), max_heavy=rng.choice(shape.slots))
        for place in range(shape.groups)
    }
    if shape.narrow:
        groups["g0"] = GroupCapacity(max_connections=rng.choice((1, 2)), max_heavy=1)
    sizes = [20.0 * rng.lognormvariate(0.0, shape.sigma) for _ in range(count)]
    for place in range(shape.giants):
        sizes[place] = sum(sizes) / workers * rng.uniform(0.3, 0.8)
    rng.shuffle(sizes)
    limit = sorted(sizes, reverse=True)[min(count - 1, int(shape.heavy * count))]
    jobs, actual = [], {}
    for place, seconds in enumerate(sizes):
        narrow = shape.narrow and rng.random() < 0.7
        group = "g0" if narrow else f"g{rng.randrange(shape.groups)}"
        heavy = shape.heavy >= 1.0 or (seconds > limit if shape.by_size else rng.random() < shape.heavy)
        sigma = KNOWN_SIGMA if rng.random() < shape.known else UNKNOWN_SIGMA
        predicted = seconds * rng.lognormvariate(0.0, sigma)
        spread = KNOWN_SPREAD if sigma == KNOWN_SIGMA else UNKNOWN_SPREAD
        tier = "high" if rng.random() < HIGH_SHARE else "normal"
        name = f"e{place:05d}"
        actual[name] = seconds
        jobs.append(
            Job(
                name=name,
                group=group,
                predicted_seconds=predicted,
                p90_seconds=predicted * spread,
                heavy=heavy,
                parallel_safe=not heavy,
                tier=tier,
                position=place,
            )
        )
    order = sorted(jobs, key=lambda job: (job.tier != "high", rng.random()))
    rank = {job.name: place for place, job in enumerate(order)}
    ranked = tuple(replace(job, rank=rank[job.name]) for job in jobs)
    return Instance(family, seed, ranked, Capacities(workers=workers, groups=groups), actual)


def with_error(instance: Instance, sigma: float) -> Instance:
    """Return `instance` with every prediction off by the same sigma (T2)."""
    rng = random.Random(f"{instance.family}:{instance.seed}:{sigma}")
    jobs = []
    for job in instance.jobs:
        predicted = instance.actual[job.name] * rng.lognormvariate(0.0, sigma)
        jobs.append(replace(job, predicted_seconds=predicted, p90_seconds=None))
    return replace(instance, jobs=tuple(jobs))


def run(instance: Instance, name: str) -> SimulationResult:
    """Return the simulated campaign under a built-in policy, with its true durations on the clock."""
    return simulate(instance.jobs, instance.capacities, POLICIES[name], instance.actual)
