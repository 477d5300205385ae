"""The waiting jobs, one queue per signature, and the free units of every resource.

A *signature* is equal demands and an equal wave, so all jobs of a queue fit or do not fit together. A queue is *open* while
its first job fits; only the first jobs of open queues are candidates. Opening and closing happens when a resource crosses
the number of units that a queue needs, so a start or an end costs the same for 10 and for 10,000 waiting jobs.

The shares of one export are a queue of their own. If it is heavy, the first of them takes the slot for all, and the last one
that ends or is skipped gives it back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from heapq import heappop, heappush

from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.resources import (
    HEAVY,
    WORKERS,
    Demands,
    demands,
    is_promised,
    scarce_resources,
    units_of,
    work_units,
)


class _Queue:
    """The waiting jobs of one signature, as a heap of places in the policy's order."""

    __slots__ = ("demands", "gone", "lacks", "left", "listed", "places", "short", "slot", "started", "wave")

    def __init__(self, takes: Demands, wave: int, shares: int) -> None:
        self.demands = takes  # without the worker, which every job takes
        self.slot = next((name for name, _ in takes if name.startswith(HEAVY)), "") if shares > 1 else ""
        self.left = shares
        self.started = False
        self.short = False  # whether `slot` is among what it lacks
        self.wave = wave
        self.places: list[int] = []
        self.gone: set[int] = set()  # discarded, still in the heap
        self.lacks = 0  # resources besides workers of which too few units are free
        self.listed = -1  # the place shown among the open heads, or -1

    @property
    def closed(self) -> bool:
        """Whether its first job does not fit; what was taken for all of its jobs is not missing."""
        return self.lacks > (self.short and self.started)


class Queues:
    """Waiting jobs in the policy's order (`jobs`), each in a wave; those in `held` enter later by `push`.

    `split_promised` gives promised exports queues of their own, for policies that put some in front.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        capacities: Capacities,
        waves: Mapping[str, int],
        held: Collection[str],
        first_wave: int,
        *,
        split_promised: bool = False,
    ) -> None:
        self._jobs = jobs
        self._place = {job.name: place for place, job in enumerate(jobs)}
        self._wave = first_wave
        self.units: dict[str, int] = {WORKERS: capacities.workers}
        self.free: dict[str, int] = {WORKERS: capacities.workers}
        self.remaining: dict[str, float] = {}
        """Predicted seconds ahead per resource (work / units), running jobs included."""
        self.heads: list[Job] = []
        """The first jobs of the open queues, in the policy's order; free workers are not considered."""
        self._places: list[int] = []
        self._watchers: dict[str, dict[int, list[_Queue]]] = {}
        self._queues: list[_Queue] = []
        self._queue_of: dict[str, _Queue] = {}
        self._work: dict[str, tuple[tuple[str, float], ...]] = {}
        self._build(capacities, waves, held, split_promised)
        self.scarce = scarce_resources(self.units, capacities.workers)

    def take(self, job: Job) -> None:
        """Start `job`, the first of its queue: it takes its units."""
        queue = self._queue_of[job.name]
        heappop(queue.places)
        self.free[WORKERS] -= 1
        for resource, units in queue.demands:
            if not queue.started or resource != queue.slot:
                self._lower(resource, units)
        queue.started = True
        self._show(queue)

    def give_back(self, job: Job) -> None:
        """End a started `job`: its units are free again."""
        self.free[WORKERS] += 1
        queue = self._queue_of[job.name]
        for resource, units in queue.demands:
            if resource != queue.slot:
                self._raise(resource, units)

    def push(self, job: Job) -> None:
        """Let a held job wait with the others."""
        queue = self._queue_of[job.name]
        heappush(queue.places, self._place[job.name])
        self._show(queue)

    def discard(self, job: Job) -> None:
        """Take a waiting job out that will never start."""
        queue = self._queue_of[job.name]
        queue.gone.add(self._place[job.name])
        self._show(queue)

    def settle(self, job: Job) -> None:
        """Take the work of `job`, ended or skipped, off what remains."""
        seconds = max(0.0, job.predicted_seconds)
        for resource, units in self._work[job.name]:
            self.remaining[resource] = max(0.0, self.remaining[resource] - units * seconds / self.units[resource])
        queue = self._queue_of[job.name]
        if queue.slot:
            queue.left -= 1
            if not queue.left and queue.started:
                self._raise(queue.slot, 1)

    def open_wave(self, wave: int) -> None:
        """Let the jobs of `wave` start, and no others."""
        self._wave = wave
        for queue in self._queues:
            self._show(queue)

    def _build(self, capacities: Capacities, waves: Mapping[str, int], held: Collection[str], split_promised: bool) -> None:
        found: dict[tuple[Demands, int, bool, bool, str], _Queue] = {}
        for place, job in enumerate(self._jobs):
            takes, wave = demands(job, capacities), waves[job.name]
            # Neither advice nor promises are resources, but policies act on them, so they must see a head of either kind.
            key = (takes, wave, job.parallel_safe, split_promised and is_promised(job), job.share_of)
            queue = found.get(key)
            if queue is None:
                queue = found[key] = _Queue(takes[1:], wave, job.shares)
                for resource, units in queue.demands:
                    if resource not in self.units:
                        self.units[resource] = self.free[resource] = units_of(resource, capacities)
                    self._watchers.setdefault(resource, {}).setdefault(units, []).append(queue)
            self._queue_of[job.name] = queue
            if job.name not in held:
                queue.places.append(place)  # places come in rising order, so the list is a heap as it stands
            work = self._work[job.name] = work_units(job, capacities)
            for resource, added in work:
                load = added * max(0.0, job.predicted_seconds) / self.units[resource]
                self.remaining[resource] = self.remaining.get(resource, 0.0) + load
        self._queues = list(found.values())
        self.open_wave(self._wave)

    def _lower(self, resource: str, units: int) -> None:
        before = self.free[resource]
        after = self.free[resource] = before - units
        for needed, watching in self._watchers[resource].items():
            if after < needed <= before:
                for other in watching:
                    other.lacks += 1
                    other.short = other.short or resource == other.slot
                    if other.listed >= 0:
                        self._show(other)

    def _raise(self, resource: str, units: int) -> None:
        before = self.free[resource]
        after = self.free[resource] = before + units
        for needed, watching in self._watchers[resource].items():
            if before < needed <= after:
                for other in watching:
                    other.lacks -= 1
                    other.short = other.short and resource != other.slot
                    if not other.closed:
                        self._show(other)

    def _show(self, queue: _Queue) -> None:
        """Bring the open heads up to date with `queue`."""
        places = queue.places
        while queue.gone and places and places[0] in queue.gone:
            queue.gone.remove(heappop(places))
        wanted = places[0] if places and not queue.closed and queue.wave == self._wave else -1
        if wanted == queue.listed:
            return
        if queue.listed >= 0:
            at = bisect_left(self._places, queue.listed)
            del self._places[at], self.heads[at]
        if wanted >= 0:
            at = bisect_left(self._places, wanted)
            self._places.insert(at, wanted)
            self.heads.insert(at, self._jobs[wanted])
        queue.listed = wanted
