"""How much work jobs put on each resource, kept so that the bound can be asked again with other capacities cheaply."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.resources import work_units


class Load:
    """The work on one resource: `total` in unit-seconds, and the single durations where every job takes one unit."""

    def __init__(self) -> None:
        self.total = 0.0
        self._alike: list[float] | None = []
        self._sums: list[float] | None = None

    def add(self, units: float, seconds: float) -> None:
        """Add one job. One that takes a part of a unit counts in the total only."""
        self.total += units * seconds
        if units < 1:
            return
        if units > 1:
            self._alike = None
        elif self._alike is not None:
            self._alike.append(seconds)

    def split(self, seconds: float, parts: int) -> Load:
        """Return this load with one job of `seconds` replaced by `parts` equal ones."""
        other = Load()
        other.total = self.total
        if self._alike is None:
            other._alike = None
        else:
            other._alike = [*self._alike, *[seconds / parts] * parts]
            other._alike.remove(seconds)
        return other

    def packing(self, units: int) -> float:
        """Return the packing term: `max over k >= 1` of the sum of the k + 1 smallest among the `k units + 1` longest jobs."""
        if self._alike is None:
            return 0.0
        if self._sums is None:
            self._sums = list(accumulate(sorted(self._alike, reverse=True), initial=0.0))
        sums = self._sums
        ends = range(units + 1, len(sums), units)
        return max((sums[end] - sums[end - k - 1] for k, end in enumerate(ends, start=1)), default=0.0)

    def seconds(self, units: int) -> float:
        """Return the bound that this resource alone gives with so many units."""
        return max(self.total / units, self.packing(units))


def collect_loads(jobs: Sequence[Job], durations: Sequence[float], capacities: Capacities) -> dict[str, Load]:
    """Return the load on every resource that any of `jobs` takes."""
    loads: dict[str, Load] = {}
    for job, seconds in zip(jobs, durations, strict=True):
        for resource, units in work_units(job, capacities):
            load = loads.get(resource)
            if load is None:
                load = loads[resource] = Load()
            load.add(units, seconds)
    return loads
