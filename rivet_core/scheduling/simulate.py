"""A campaign on a virtual clock: the same dispatcher and policies as the executor, with durations given beforehand.

Decisions see predicted seconds only; the clock uses the actual ones, which the policy learns when a job ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any

from rivet_core.api import SchedulingPolicy
from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.bound import LowerBound, certificate, lower_bound
from rivet_core.scheduling.campaign_file import Campaign
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.resources import HEAVY, demands, is_promised, units_of
from rivet_core.scheduling.whatif import WhatIf, what_ifs


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """One export on the virtual clock, seconds from the start of the campaign. `order` counts starts from 0."""

    name: str
    start: float
    end: float
    order: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """A simulated campaign. `bound` is that of the durations on the clock, so `ratio` is never below 1.

    `violations` counts capacities exceeded, found by an audit of the schedule itself, plus wrong answers of the policy.
    `fresh_mean_ratio` is the mean end of the exports with tier high or a deadline, over the bound; `None` without any.
    """

    policy: str
    workers: int
    makespan_seconds: float
    bound: LowerBound
    violations: int
    messages: tuple[str, ...]
    schedule: tuple[Scheduled, ...]
    fresh_mean_ratio: float | None
    tier_ends: Mapping[str, float] = field(default_factory=dict)
    wave_ends: Mapping[int, float] = field(default_factory=dict)
    front: frozenset[str] = frozenset()

    @property
    def ratio(self) -> float:
        """Makespan over lower bound: the certificate."""
        return certificate(self.makespan_seconds, self.bound.seconds)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that `rivet simulate --json` prints (scheduling section 6)."""
        binding = self.bound.binding
        return {
            "makespan_seconds": self.makespan_seconds,
            "lower_bound_seconds": self.bound.seconds,
            "binding": {"kind": binding.kind, "name": binding.name, "explanation": binding.explanation},
            "ratio": self.ratio,
            "violations": self.violations,
            "schedule": [{"name": run.name, "start": run.start, "end": run.end} for run in self.schedule],
            "fresh": {"mean_ratio": self.fresh_mean_ratio},
        }

    def as_labelled_dict(self) -> dict[str, Any]:
        """Return the same object with the policy and the workers in front, for when several are printed."""
        return {"policy": self.policy, "workers": self.workers, **self.as_dict()}


def simulate(
    jobs: Sequence[Job],
    capacities: Capacities,
    policy: SchedulingPolicy,
    actual: Mapping[str, float] | None = None,
) -> SimulationResult:
    """Run `jobs` on a virtual clock under `policy`; a job lasts its seconds in `actual`, else the predicted ones.

    Raises what `Dispatcher` raises.
    """
    known = actual or {}
    dispatcher = Dispatcher(jobs, capacities, policy)
    ends: list[tuple[float, int, str]] = []
    schedule: list[Scheduled] = []
    starts: dict[str, tuple[float, int]] = {}
    now, order = 0.0, 0
    while True:
        while (job := dispatcher.claim()) is not None:
            starts[job.name] = (now, order)
            heappush(ends, (now + max(0.0, known.get(job.name, job.predicted_seconds)), order, job.name))
            order += 1
        if not ends:
            break
        now = ends[0][0]
        while ends and ends[0][0] <= now:
            _, _, name = heappop(ends)
            start, place = starts[name]
            dispatcher.finish(name, actual_seconds=now - start)
            schedule.append(Scheduled(name=name, start=start, end=now, order=place))
    schedule.sort(key=lambda run: run.order)
    bound = lower_bound(jobs, capacities, known)
    exceeded = audit(schedule, jobs, capacities)
    lost = len(jobs) - len(schedule)
    return SimulationResult(
        policy=policy.name,
        workers=capacities.workers,
        makespan_seconds=now,
        bound=bound,
        violations=dispatcher.violations + len(exceeded) + lost,
        messages=(*dispatcher.violation_messages, *exceeded),
        schedule=tuple(schedule),
        fresh_mean_ratio=_freshness(schedule, jobs, bound.seconds),
        tier_ends=_last_ends(schedule, {job.name: job.tier for job in jobs}),
        wave_ends=_last_ends(schedule, dispatcher.waves),
        front=dispatcher.front,
    )


def simulate_campaign(campaign: Campaign, policy: SchedulingPolicy, workers: int | None = None) -> SimulationResult:
    """Run a campaign file or a plan on a virtual clock; `workers` overrides its own number."""
    capacities = campaign.capacities if workers is None else replace(campaign.capacities, workers=workers)
    return simulate(campaign.jobs, capacities, policy, campaign.actual)


def what_ifs_of(campaign: Campaign, workers: int | None = None) -> tuple[WhatIf, ...]:
    """Return the bound with each capacity + 1 and so on, of the same seconds and workers as `simulate_campaign`'s."""
    capacities = campaign.capacities if workers is None else replace(campaign.capacities, workers=workers)
    known = campaign.actual
    jobs = [replace(job, predicted_seconds=known.get(job.name, job.predicted_seconds)) for job in campaign.jobs]
    return what_ifs(jobs, capacities)


def audit(schedule: Sequence[Scheduled], jobs: Sequence[Job], capacities: Capacities) -> list[str]:
    """Return one message per resource that the schedule exceeds and per export started before what it waits for.

    It knows nothing of the dispatcher: it sweeps over starts and ends. An end frees before a start of the same moment takes.
    """
    by_name = {job.name: job for job in jobs}
    moves: dict[str, list[tuple[float, int]]] = defaultdict(list)
    ended = {run.name: run.end for run in schedule}
    together: dict[tuple[str, str], tuple[float, float]] = {}
    messages = []
    for run in schedule:
        job = by_name[run.name]
        for resource, units in demands(job, capacities):
            if job.share_of and resource.startswith(HEAVY):
                start, end = together.get((job.share_of, resource), (run.start, run.end))
                together[job.share_of, resource] = min(start, run.start), max(end, run.end)
            else:
                moves[resource] += [(run.start, units), (run.end, -units)] if run.end > run.start else []
        for before in job.depends_on:
            if before in ended and ended[before] > run.start:
                messages.append(f"{run.name} starts before {before} ends")
    for (_, resource), (start, end) in together.items():
        moves[resource] += [(start, 1), (end, -1)] if end > start else []
    for resource, changes in sorted(moves.items()):
        level = highest = 0
        for _, units in sorted(changes):
            level += units
            highest = max(highest, level)
        if highest > units_of(resource, capacities):
            messages.append(f"{resource}: {highest} units taken, {units_of(resource, capacities)} there")
    return messages


def _freshness(schedule: Sequence[Scheduled], jobs: Sequence[Job], bound: float) -> float | None:
    ends = _last_ends(schedule, {job.name: job.export for job in jobs if is_promised(job)})
    return sum(ends.values()) / len(ends) / bound if ends and bound > 0 else None


def _last_ends(schedule: Sequence[Scheduled], kind: Mapping[str, Any]) -> dict[Any, float]:
    """Return, per kind of export, when the last one ends; those without a kind do not count."""
    last: dict[Any, float] = {}
    for run in schedule:
        if run.name in kind:
            last[kind[run.name]] = max(last.get(kind[run.name], 0.0), run.end)
    return last
