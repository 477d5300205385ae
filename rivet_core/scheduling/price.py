"""What barriers cost: waves against a pool, as predicted, and between which bounds, because durations are guesses.

A long export without history may take a third or three times of what is predicted, and the price moves with it. So the price
is also taken under durations drawn from the predictions' own ranges (log-normal, 10 % of them beyond p90).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rivet_core.api import SchedulingPolicy
from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.simulate import SimulationResult, simulate

DRAWS = 8
MOST_DRAWN = 500
"""Campaigns with more exports get no bounds: no single export moves them far, and drawing costs as long as simulating."""
TOLD = 0.01
TOLD_IF_UNLUCKY = 0.05
"""From which predicted share, and from which upper bound, the price is worth a line."""
Z90 = 1.2815515655446004
"""The 90 % point of the standard normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WavePrice:
    """What barriers cost, all predicted. `share` is extra time over the pool's (0.18 = 18 % longer).

    `wave_seconds` is how long each wave lasts by number, `LAST_WAVE` for exports without one. `low` and `high` are the bounds
    of `share` under durations that may as well come; `None` where none were drawn.
    """

    waves_seconds: float
    pool_seconds: float
    wave_seconds: Mapping[int, float] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None

    @property
    def extra_seconds(self) -> float:
        """Seconds that the barriers add."""
        return max(0.0, self.waves_seconds - self.pool_seconds)

    @property
    def share(self) -> float:
        """`extra_seconds` over the pool's makespan."""
        return _share(self.waves_seconds, self.pool_seconds)

    def words(self, asked: int) -> str:
        """Return the price of `asked` waves for people, empty where it is nothing and most likely stays so."""
        low, high = self.low if self.low is not None else self.share, self.high if self.high is not None else self.share
        if self.share < TOLD and high < TOLD_IF_UNLUCKY:
            return ""
        ends = [f"{share:+.0%}" for share in (low, high)]
        spread = f" (between {ends[0]} and {ends[1]} as exports take shorter or longer)" if ends[0] != ends[1] else ""
        return f"{asked} waves cost {self.share:+.0%}, {self.extra_seconds:.1f} s, against a pool{spread}"


def price_waves(
    with_barriers: SimulationResult, without: SimulationResult, bounds: tuple[float, float] | None = None
) -> WavePrice:
    """Return what barriers cost: a policy with barriers against one without, both simulated on the same jobs in waves."""
    lengths: dict[int, float] = {}
    before = 0.0
    for wave, end in sorted(with_barriers.wave_ends.items(), key=lambda item: item[1]):
        lengths[wave] = end - before
        before = end
    price = WavePrice(waves_seconds=with_barriers.makespan_seconds, pool_seconds=without.makespan_seconds, wave_seconds=lengths)
    if bounds is None:
        return price
    return WavePrice(
        waves_seconds=price.waves_seconds,
        pool_seconds=price.pool_seconds,
        wave_seconds=lengths,
        low=min(price.share, bounds[0]),
        high=max(price.share, bounds[1]),
    )


def price_bounds(
    jobs: Sequence[Job], capacities: Capacities, barriers: SchedulingPolicy, pool: SchedulingPolicy
) -> tuple[float, float] | None:
    """Return the least and the greatest share that barriers cost under `DRAWS` draws of durations, the same ones for the same
    jobs; `None` for more than `MOST_DRAWN` jobs and where no job has a range.
    """
    if len(jobs) > MOST_DRAWN or not any((job.p90_seconds or 0.0) > job.predicted_seconds > 0 for job in jobs):
        return None
    rng = random.Random(0)  # noqa: S311 - a plan is the same whenever it is made
    shares = []
    for _ in range(DRAWS):
        drawn = {job.name: job.predicted_seconds * math.exp(_spread(job) * rng.gauss(0.0, 1.0)) for job in jobs}
        ends = [simulate(jobs, capacities, policy, drawn).makespan_seconds for policy in (barriers, pool)]
        shares.append(_share(*ends))
    return min(shares), max(shares)


def _spread(job: Job) -> float:
    """Return the sigma of the log-normal whose median is the prediction and whose 90 % point is its p90."""
    p90 = job.p90_seconds or 0.0
    return math.log(p90 / job.predicted_seconds) / Z90 if p90 > job.predicted_seconds > 0 else 0.0


def _share(waves_seconds: float, pool_seconds: float) -> float:
    return max(0.0, waves_seconds - pool_seconds) / pool_seconds if pool_seconds > 0 else 0.0
