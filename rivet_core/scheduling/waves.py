"""Waves: numbered groups with barriers between them, for people and orchestrators that want steps rather than a pool.

Exports go, in rank order, into the earliest wave that still has budget on every resource (budget: an equal share of the lower
bound), so important ones come early and each wave is about as long as the others. A barrier costs time; `free_waves` says
how many cost nothing, `rivet_core.scheduling.price` what the asked number costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.bound import LowerBound, lower_bound
from rivet_core.scheduling.chains import Chains
from rivet_core.scheduling.resources import WORKERS, cap_workers, units_of, work_units

DEFAULT_WAVES = 4

_SLACK = 1 + 1e-9
"""Budgets are compared with this tolerance, so that rounding never moves an export."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WavePlan:
    """Recommended waves. `wave_of` covers every export: a hand-set number as it stands, else the recommendation.

    `hand_set` are the exports whose number came from the config: when there is any, the others are suggestions only and run
    last. `spans` may be longer than a wave's budget, so their wave lasts longer than the others. `free_waves` barriers cost
    nothing; `budget_seconds` is what each wave was given on every resource. `runs_in` is the wave that each export runs in:
    such suggestions are in `LAST_WAVE` there, or with a hand-set export that waits for them.
    """

    wave_of: Mapping[str, int]
    asked: int
    free_waves: int
    budget_seconds: float
    spans: frozenset[str] = frozenset()
    hand_set: frozenset[str] = frozenset()
    runs_in: Mapping[str, int] = field(default_factory=dict)

    def members(self) -> dict[int, tuple[str, ...]]:
        """Return the exports of each wave as it runs, by number (`LAST_WAVE` for none), in the order they were given in."""
        found: dict[int, list[str]] = {}
        for name, wave in self.runs_in.items():
            found.setdefault(wave, []).append(name)
        return {wave: tuple(found[wave]) for wave in sorted(found)}

    def assign(self, jobs: Sequence[Job]) -> tuple[Job, ...]:
        """Return `jobs` with the waves they run in: with hand-set ones, exports without a number keep none (they run last)."""
        if self.hand_set:
            return tuple(jobs)
        return tuple(replace(job, wave=self.wave_of[job.export]) for job in jobs)


def free_waves(bound: LowerBound) -> int:
    """Return how many waves cost nothing: as many as the longest export fits into the lower bound, at least 1."""
    if bound.longest_seconds <= 0:
        return 1
    return max(1, math.floor(bound.seconds / bound.longest_seconds * _SLACK))


def recommend_waves(jobs: Sequence[Job], capacities: Capacities, asked: int | None = DEFAULT_WAVES) -> WavePlan:
    """Return the recommended waves of `jobs`; `asked=None` means as many as are free (`--waves auto`).

    Never more waves than exports. Hand-set waves (`Job.wave`) stand and use up budget of their wave. The shares of an export
    are in one wave.
    """
    bound = lower_bound(jobs, capacities)
    free = free_waves(bound)
    exports = _exports(jobs)
    hand_set = {job.export: job.wave for job in jobs if job.wave is not None}
    count = max(1, min(asked if asked is not None else free, len(exports)))
    numbers = sorted({*range(1, count + 1), *hand_set.values()})
    budget = bound.seconds / count
    cap = cap_workers((job.group for job in jobs), capacities)
    ends: dict[int, dict[str, float]] = {number: {} for number in numbers}
    wave_of: dict[str, int] = dict(hand_set)
    loads = {name: _loads(members, capacities, cap) for name, members in exports.items()}
    for name, wave in hand_set.items():
        _add(ends[wave], loads[name])
    firsts = sorted((members[0] for members in exports.values()), key=lambda job: (job.rank, job.position, job.export))
    ranked = [job.export for job in firsts if job.export not in hand_set]
    reach = {name: max(_reach(job) for job in exports[name]) for name in ranked}
    spans = {name for name in ranked if reach[name] > budget * _SLACK}
    for name in spans:
        wave_of[name] = numbers[0]
        _add(ends[numbers[0]], loads[name])
    budgets = dict.fromkeys(numbers, budget)
    if spans:
        # The first wave lasts as long as what spans it, so filling its other resources up to there costs nothing; up to
        # where it may end, because a long export that takes longer than predicted would leave everybody else idle.
        longest = max(reach[name] for name in spans)
        budgets[numbers[0]] = max(longest, *ends[numbers[0]].values())
    for name in ranked:
        if name not in spans:
            wave_of[name] = _place(ends, loads[name], budgets)
            _add(ends[wave_of[name]], loads[name])
    chains = Chains(jobs)
    by_job = {job.name: wave_of[job.export] for job in jobs}
    chains.lift(by_job)
    kept = {job.name: job.wave for job in jobs if job.wave is not None}
    by_job |= kept
    chains.lower(by_job, kept)
    in_order = {job.export: by_job[job.name] for job in jobs}
    runs_in = chains.waves(jobs) if hand_set else by_job
    return WavePlan(
        wave_of=in_order,
        asked=count,
        free_waves=free,
        budget_seconds=budget,
        spans=frozenset(spans),
        hand_set=frozenset(hand_set),
        runs_in={job.export: runs_in[job.name] for job in jobs},
    )


def _reach(job: Job) -> float:
    """Return how long a job may well take: its p90, where there is one."""
    return max(job.predicted_seconds, job.p90_seconds or 0.0)


def _exports(jobs: Sequence[Job]) -> dict[str, list[Job]]:
    """Return the jobs of each export: itself, or its shares."""
    found: dict[str, list[Job]] = {}
    for job in jobs:
        found.setdefault(job.export, []).append(job)
    return found


def _loads(jobs: Sequence[Job], capacities: Capacities, cap: int) -> tuple[tuple[str, float], ...]:
    """Return the seconds that the jobs of an export add to each resource (work / units)."""
    found: dict[str, float] = {}
    for job in jobs:
        for name, units in work_units(job, capacities):
            seconds = units * job.predicted_seconds / (cap if name == WORKERS else units_of(name, capacities))
            found[name] = found.get(name, 0.0) + seconds
    return tuple(found.items())


def _place(ends: Mapping[int, Mapping[str, float]], loads: Sequence[tuple[str, float]], budgets: Mapping[int, float]) -> int:
    """Return the earliest wave with budget left on every resource, else the one whose worst resource ends lowest."""
    lowest, best = math.inf, 0
    for wave, used in ends.items():
        worst = max(used.get(name, 0.0) + load for name, load in loads)
        if worst <= budgets[wave] * _SLACK:
            return wave
        if worst < lowest:
            lowest, best = worst, wave
    return best


def _add(used: dict[str, float], loads: Sequence[tuple[str, float]]) -> None:
    for name, load in loads:
        used[name] = used.get(name, 0.0) + load
