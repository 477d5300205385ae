"""Chains of exports that wait for each other (`depends_on`): order, longest chain, circles."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

from rivet_core.errors import ConfigError
from rivet_core.facts import Job


def dependants(jobs: Sequence[Job]) -> tuple[list[list[int]], list[int]]:
    """Return, by index, who waits for each job, and for how many jobs each one waits.

    Names outside `jobs` (a campaign cut down with `-e`) and repeated names hold nobody back.
    """
    index = {job.name: place for place, job in enumerate(jobs)}
    waits: list[list[int]] = [[] for _ in jobs]
    counts = [0] * len(jobs)
    for place, job in enumerate(jobs):
        if not job.depends_on:
            continue
        for name in set(job.depends_on):
            before = index.get(name)
            if before is not None:
                waits[before].append(place)
                counts[place] += 1
    return waits, counts


def topological(jobs: Sequence[Job]) -> tuple[list[int], list[list[int]]]:
    """Return the indices of `jobs` so that each comes after those it waits for, and who waits for each.

    Raises `ConfigError` naming the exports of a circle.
    """
    waits, counts = dependants(jobs)
    ready = deque(place for place, count in enumerate(counts) if count == 0)
    ordered = []
    while ready:
        place = ready.popleft()
        ordered.append(place)
        for later in waits[place]:
            counts[later] -= 1
            if counts[later] == 0:
                ready.append(later)
    if len(ordered) < len(jobs):
        raise ConfigError(
            f"depends_on goes round in a circle: {' -> '.join(_circle(jobs, counts))}",
            hint="remove one depends_on of the circle",
        )
    return ordered, waits


def longest_chain(jobs: Sequence[Job], durations: Sequence[float]) -> tuple[str, float]:
    """Return the last export of the longest chain and the chain's seconds; `("", 0.0)` without `depends_on`."""
    if not any(job.depends_on for job in jobs):
        return "", 0.0
    ordered, waits = topological(jobs)
    ends = [0.0] * len(jobs)
    for place in ordered:
        ends[place] += durations[place]
        for later in waits[place]:
            ends[later] = max(ends[later], ends[place])
    last = max(range(len(jobs)), key=ends.__getitem__)
    return jobs[last].name, ends[last]


def longest_path(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Return the jobs of the longest chain by predicted seconds, first to last; empty without `depends_on`."""
    name, _ = longest_chain(jobs, [job.predicted_seconds for job in jobs])
    by_name = {job.name: job for job in jobs}
    ends: dict[str, float] = {}
    for place in topological(jobs)[0]:
        job = jobs[place]
        before = max((ends[one] for one in job.depends_on if one in ends), default=0.0)
        ends[job.name] = before + job.predicted_seconds
    path: list[Job] = []
    while name:
        path.append(by_name[name])
        name = max((one for one in by_name[name].depends_on if one in ends), key=ends.__getitem__, default="")
    return tuple(reversed(path))


def _circle(jobs: Sequence[Job], counts: Sequence[int]) -> list[str]:
    """Return the names along one circle, the first one again at the end. `counts` > 0 marks jobs on or behind a circle."""
    stuck = {job.name: job for job, count in zip(jobs, counts, strict=True) if count > 0}
    name = next(iter(stuck))
    path: list[str] = []
    while name not in path:
        path.append(name)
        name = next(before for before in stuck[name].depends_on if before in stuck)
    return [*path[path.index(name) :], name]


LAST_WAVE = 1 << 62
"""Where jobs without a wave go under a policy with barriers: after every numbered wave."""


class Chains:
    """Who waits for whom while a campaign runs. Raises `ConfigError` for a circle."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._later: dict[str, list[str]] = {}
        self._before: dict[str, int] = {}
        self._order: list[str] = []
        if not any(job.depends_on for job in jobs):
            return
        ordered, waits = topological(jobs)
        self._order = [jobs[place].name for place in ordered]
        for place in ordered:
            later = self._later[jobs[place].name] = [jobs[found].name for found in waits[place]]
            for name in later:
                self._before[name] = self._before.get(name, 0) + 1

    @property
    def held(self) -> frozenset[str]:
        """The jobs that still wait for another."""
        return frozenset(name for name, count in self._before.items() if count)

    def lift(self, waves: dict[str, int]) -> None:
        """Raise each job's wave to that of what it waits for: a barrier must never wait for what is behind it."""
        for name in self._order:
            for later in self._later[name]:
                waves[later] = max(waves[later], waves[name])

    def lower(self, waves: dict[str, int], kept: Collection[str]) -> None:
        """Lower each job's wave, but for those `kept`, to that of the earliest which waits for it."""
        for name in reversed(self._order):
            if name not in kept and self._later[name]:
                waves[name] = min(waves[name], *(waves[later] for later in self._later[name]))

    def waves(self, jobs: Sequence[Job]) -> dict[str, int]:
        """Return the wave in which each of `jobs` runs where there are barriers: its own, or `LAST_WAVE` without a number.

        A numbered one keeps its place: what it waits for comes with it at the latest, unless that has a later number itself.
        """
        found = {job.name: LAST_WAVE if job.wave is None else job.wave for job in jobs}
        self.lower(found, [job.name for job in jobs if job.wave is not None])
        self.lift(found)
        return found

    def release(self, name: str) -> list[str]:
        """Record that `name` succeeded; return the jobs that waited for nothing else."""
        free = []
        for later in self._later.get(name, ()):
            self._before[later] -= 1
            if not self._before[later]:
                free.append(later)
        return free

    def behind(self, name: str) -> list[str]:
        """Return everything that waits for `name`, directly or not."""
        found: dict[str, None] = {}
        path = [name]
        while path:
            for later in self._later.get(path.pop(), ()):
                if later not in found:
                    found[later] = None
                    path.append(later)
        return list(found)
