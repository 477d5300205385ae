"""Rates from history: how fast an export, its group, or its engine moved bytes, and how far that scatters.

Recent runs count most: the weight halves with every older run and decays over 30 days. A weighted median, not a mean, so one
slow night does not move the figure. Killed and running rows never enter; failed ones are floors, see `predict`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from rivet_core.facts import RunFact

LAST_RUNS = 5
"""Successes looked at, the latest first."""

DECAY_DAYS = 30.0
OVERHEAD_SECONDS = 0.25
"""What a run costs before the first byte and after the last one: connect, first page, publish, commit."""

MIN_RUN_SECONDS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One weighted observation: bytes per second (`None` when the run's bytes are unknown) and wall seconds."""

    rate: float | None
    seconds: float
    size: float | None
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A weighted median rate in bytes/s and how many samples are behind it.

    `sigma` is the scatter of log(actual seconds / seconds that this rate gives), so it is small for exports that are all
    overhead, whatever their bytes did.
    """

    bytes_per_second: float
    sigma: float
    count: int


def samples(history: Iterable[RunFact], as_of: datetime, fingerprint: str = "") -> tuple[Sample, ...]:
    """Return the last successes as weighted samples, the latest first.

    A run of another `fingerprint` (another mode or statement) belongs to another export and is left out.
    """
    usable = [
        run
        for run in history
        if run.status == "succeeded"
        and run.seconds is not None
        and run.seconds >= 0
        and not (fingerprint and run.fingerprint and run.fingerprint != fingerprint)
    ]
    usable.sort(key=lambda run: run.started_at, reverse=True)
    return tuple(_sample(run, age, as_of) for age, run in enumerate(usable[:LAST_RUNS]))


def weighted_median(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the value at which half of the weight lies below, given (value, weight) pairs.

    Between two values the weight is interpolated, so the figure moves smoothly. Raises `ValueError` without pairs.
    """
    ordered = sorted((value, weight) for value, weight in pairs if weight > 0)
    if not ordered:
        raise ValueError("no samples")
    total = math.fsum(weight for _, weight in ordered)
    middles, before = [], 0.0
    for value, weight in ordered:
        middles.append(((before + weight / 2) / total, value))
        before += weight
    for (low, left), (high, right) in pairwise(middles):
        if low <= 0.5 <= high:
            share = (0.5 - low) / (high - low) if high > low else 0.0
            return left + share * (right - left)
    return middles[0][1] if middles[0][0] > 0.5 else middles[-1][1]


def rate_of(found: Sequence[Sample]) -> Rate | None:
    """Return the weighted median rate of `found`, `None` when no sample has bytes."""
    pairs = [(math.log(sample.rate), sample.weight) for sample in found if sample.rate]
    if not pairs:
        return None
    speed = math.exp(weighted_median(pairs))
    return Rate(bytes_per_second=speed, sigma=scatter(residuals(found, speed)), count=len(pairs))


def residuals(found: Iterable[Sample], bytes_per_second: float) -> list[tuple[float, float]]:
    """Return (log of actual over predicted seconds, weight) of the samples with a size."""
    return [
        (math.log(sample.seconds / (OVERHEAD_SECONDS + sample.size / bytes_per_second)), sample.weight)
        for sample in found
        if sample.size
    ]


def scatter(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the weighted standard deviation of log values, corrected for few samples; 0 for one."""
    total = math.fsum(weight for _, weight in pairs)
    squares = math.fsum(weight * weight for _, weight in pairs)
    effective = total * total / squares if squares > 0 else 0.0
    if effective <= 1.0 + 1e-9:
        return 0.0
    mean = math.fsum(weight * value for value, weight in pairs) / total
    variance = math.fsum(weight * (value - mean) ** 2 for value, weight in pairs) / total
    return math.sqrt(variance * effective / (effective - 1.0))


def _sample(run: RunFact, age: int, as_of: datetime) -> Sample:
    seconds = max(MIN_RUN_SECONDS, run.seconds or 0.0)
    days = max(0.0, (as_of - run.started_at).total_seconds() / 86400.0)
    size = run.bytes if run.bytes else run.table_bytes
    moving = max(seconds - OVERHEAD_SECONDS, seconds * 0.1)
    return Sample(
        rate=size / moving if size else None,
        seconds=seconds,
        size=float(size) if size else None,
        weight=0.5**age * math.exp(-days / DECAY_DAYS),
    )
