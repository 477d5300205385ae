"""The whole table: every target of the scheduler, section by section."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.schedule.events import measure_disturbance
from benchmarks.schedule.families import campaigns
from benchmarks.schedule.measure import measure_error, measure_fast_lane, measure_hard, measure_pool, measure_waves
from benchmarks.schedule.prediction import measure_prediction
from benchmarks.schedule.row import Row
from benchmarks.schedule.speed import measure_plan, measure_speed


@dataclass(frozen=True)
class Extent:
    """How much is measured: campaigns of each family, of the big one and of the hard set, events, fleets for predictions."""

    per_family: int
    big: int
    hard: int
    events: int
    fleets: int


QUICK = Extent(per_family=2, big=0, hard=10, events=20_000, fleets=1)
NORMAL = Extent(per_family=8, big=1, hard=50, events=1_000_000, fleets=8)
FULL = Extent(per_family=40, big=5, hard=200, events=1_000_000, fleets=20)
"""365 campaigns."""


def all_rows(extent: Extent) -> Iterable[Row]:
    """Yield every row as it is known."""
    yield from measure_plan()
    yield from measure_speed()
    instances = list(campaigns(extent.per_family, extent.big))
    yield from measure_pool(instances)
    yield from measure_error(instances)
    yield from measure_fast_lane(instances)
    yield from measure_waves(instances)
    yield from measure_hard(extent.hard)
    yield from measure_prediction(extent.fleets)
    yield from measure_disturbance(extent.events)
