"""The policies that come with Rivet. Each is two pure functions: an order of all jobs, and a choice among those that fit now.

`waves` config order inside barriers; `waves-bottleneck` the same barriers with bottleneck order inside (recommended waves);
`longest-first` the Rust tool's rule; `bottleneck` the default of a pool; `fast-lane` bottleneck with the promised exports in
front; `fifo` and `priority` the two plain ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from rivet_core.api import SchedulingPolicy
from rivet_core.facts import Capacities, Job, PoolState
from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.resources import WORKERS, is_promised, resource_names, units_of, work_units

FAST_LANE_SHARE = 0.03
"""The share of the lower bound that promoted exports may take of every resource (scheduling section 2)."""

SLACK_SHARE = 0.2
"""Promised exports pass others only while the most urgent head needs less than the remaining time by this share."""

LEAD_SLACK_SHARE = 0.1
"""The same for promoted exports, which yield only to a resource that would idle."""

LONG_SHARE = 0.3
"""A promised export longer than this share of the lower bound starts early for the sake of the campaign's end."""


def builtin_policies() -> tuple[SchedulingPolicy, ...]:
    """Return the records of all built-in policies."""
    here = "rivet_core.builtin.policies:"
    return (
        SchedulingPolicy(
            name="waves",
            summary="numbered waves with a barrier between them, config order inside",
            order=here + "order_by_config",
            waves=True,
        ),
        SchedulingPolicy(
            name="waves-bottleneck",
            summary="numbered waves with a barrier between them, bottleneck order inside",
            order=here + "order_by_bottleneck",
            next=here + "choose_bottleneck",
            waves=True,
        ),
        SchedulingPolicy(
            name="longest-first",
            summary="longest predicted duration first; exports that are not parallel_safe one at a time; tiers ignored",
            order=here + "order_by_length",
            next=here + "choose_longest",
        ),
        SchedulingPolicy(
            name="bottleneck",
            summary="the export with the most work behind it on the scarcest resource first: finishes soonest",
            order=here + "order_by_bottleneck",
            next=here + "choose_bottleneck",
        ),
        SchedulingPolicy(
            name="fast-lane",
            summary="exports with tier high or a deadline first while they cost at most 3 % of the campaign, then bottleneck",
            order=here + "order_fast_lane",
            next=here + "choose_fast_lane",
            front=here + "promote",
        ),
        SchedulingPolicy(name="fifo", summary="config order", order=here + "order_by_config"),
        SchedulingPolicy(name="priority", summary="rank order: named priority before speed", order=here + "order_by_rank"),
    )


def order_by_config(jobs: Sequence[Job], capacities: Capacities) -> list[str]:
    """Config order."""
    return [job.name for job in sorted(jobs, key=lambda job: (job.position, job.name))]


def order_by_rank(jobs: Sequence[Job], capacities: Capacities) -> list[str]:
    """Rank order; equal ranks by least recent success, so that nobody is always last."""
    return [job.name for job in sorted(jobs, key=lambda job: (job.rank, _staleness(job), job.position, job.name))]


def order_by_length(jobs: Sequence[Job], capacities: Capacities) -> list[str]:
    """Longest predicted duration first."""
    return [job.name for job in sorted(jobs, key=lambda job: (-job.predicted_seconds, job.position, job.name))]


def choose_longest(state: PoolState) -> str | None:
    """Return the longest head, leaving out exports that are not parallel_safe while another of them runs."""
    alone = next((job.export for job in state.running if not job.parallel_safe), None)
    return next((job.name for job in state.heads if job.parallel_safe or alone in (None, job.export)), None)


def order_by_bottleneck(jobs: Sequence[Job], capacities: Capacities) -> list[str]:
    """Most work ahead on a scarce resource first, as it stands before the start; equal ones longest, then stalest first."""
    workers = capacities.workers
    ahead: dict[str, float] = {}
    for job in jobs:
        for resource, units in work_units(job, capacities):
            available = units_of(resource, capacities)
            if available < workers:
                ahead[resource] = ahead.get(resource, 0.0) + units * job.predicted_seconds / available

    def urgency(job: Job) -> tuple[float, float, float, str]:
        names = resource_names(job.group, job.heavy, job.serial)
        work = max((ahead.get(name, 0.0) for name in names), default=0.0)
        length = _length(job)
        return (-max(length, work), -length, _staleness(job), job.name)

    return [job.name for job in sorted(jobs, key=urgency)]


def choose_bottleneck(state: PoolState) -> str | None:
    """Return the head with the greatest `max(own length, remaining seconds on any scarce resource it takes)`."""
    return _most_urgent(state.heads, state)[0].name


def promote(jobs: Sequence[Job], capacities: Capacities) -> frozenset[str]:
    """Return the exports of the fast lane: tier high or a deadline, cheapest first, while they stay a small share.

    The promoted work on every resource stays within 3 % of what the lower bound gives it, and none is longer than 3 % of the
    bound, so the lane costs the others next to nothing.
    """
    budget = FAST_LANE_SHARE * lower_bound(jobs, capacities).seconds
    used: dict[str, float] = {}
    chosen = []
    wanted = (job for job in jobs if is_promised(job))
    for job in sorted(wanted, key=lambda job: (job.predicted_seconds, job.rank, job.name)):
        if job.predicted_seconds > budget:
            break
        seconds = job.predicted_seconds
        takes = [(name, units * seconds / units_of(name, capacities)) for name, units in work_units(job, capacities)]
        if all(used.get(name, 0.0) + load <= budget for name, load in takes):
            chosen.append(job.name)
            for name, load in takes:
                used[name] = used.get(name, 0.0) + load
    return frozenset(chosen)


def order_fast_lane(jobs: Sequence[Job], capacities: Capacities) -> list[str]:
    """Promoted exports shortest first, the other promised ones (very long first, then shortest first), then bottleneck."""
    front = promote(jobs, capacities)
    long = LONG_SHARE * lower_bound(jobs, capacities).seconds

    def lane(job: Job) -> tuple[int, float, int, str]:
        seconds = job.predicted_seconds
        place = 0 if job.name in front else 1 if seconds > long else 2
        return (place, -seconds if place == 1 else seconds, job.rank, job.name)

    first = [job.name for job in sorted(filter(is_promised, jobs), key=lane)]
    promised = set(first)
    return first + [name for name in order_by_bottleneck(jobs, capacities) if name not in promised]


def choose_fast_lane(state: PoolState) -> str | None:
    """Return a promised export, promoted ones first, unless an urgent one has to pass it.

    A head is urgent when its own length, or the work ahead on a scarce resource that the promised export leaves idle, nearly
    fills the time that the campaign still needs. Until then the order does not move the end, so promised exports go first
    at next to no cost. A promoted export lets only an idle resource pass, and only onto half of the workers.
    """
    heads = state.heads
    promised = [job for job in heads if is_promised(job)]
    if not promised:
        return _most_urgent(heads, state)[0].name
    leads = heads[0].name in state.front  # promoted exports lead the order
    candidate = heads[0] if leads else min(promised, key=_soonest)
    taken = resource_names(candidate.group, candidate.heavy, candidate.serial)
    horizon = max([state.remaining[WORKERS], *(state.remaining[name] for name in state.scarce.intersection(taken))])
    urgent, seconds, resource = _most_urgent(heads, state, taken)
    if leads:
        others = sum(not is_promised(job) for job in state.running)
        passes = bool(resource) and seconds >= (1.0 - LEAD_SLACK_SHARE) * horizon and 2 * (others + 1) <= state.workers
    else:
        passes = seconds >= (1.0 - SLACK_SHARE) * horizon
    if not passes:
        return candidate.name
    alike = [job for job in promised if resource in resource_names(job.group, job.heavy, job.serial)]
    return min(alike, key=_soonest, default=urgent).name


def _most_urgent(heads: Sequence[Job], state: PoolState, without: Sequence[str] = ()) -> tuple[Job, float, str]:
    """Return the head with the greatest key, the key in seconds, and the resource behind it (empty: its own length).

    Resources in `without` do not count.
    """
    scarce, remaining = state.scarce.difference(without) if without else state.scarce, state.remaining
    best, best_key, best_seconds, binding = heads[0], -1.0, -1.0, ""
    for job in heads:
        seconds = key = _length(job)
        behind = ""
        for name in resource_names(job.group, job.heavy, job.serial):
            if name in scarce:
                work = remaining[name]
                if work > key:
                    key, behind = work, name
        if key > best_key or (key == best_key and (seconds, -_staleness(job)) > (best_seconds, -_staleness(best))):
            best, best_key, best_seconds, binding = job, key, seconds, behind
    return best, best_key, binding


def _soonest(job: Job) -> tuple[float, int, str]:
    return (job.predicted_seconds, job.rank, job.name)


def _length(job: Job) -> float:
    """Return how long to reckon with: where a range is known its 97 % point, because a small guess that turns out long must
    not start last. For a log-normal range that point is `p50 (p90 / p50)^1.5`; without a range it is the prediction.
    """
    expected, high = job.predicted_seconds, job.p90_seconds
    if high is None or high <= expected or expected <= 0:
        return expected
    return high * sqrt(high / expected)


def _staleness(job: Job) -> float:
    """Return the last success in epoch seconds; never is the stalest of all."""
    return float("-inf") if job.last_success is None else job.last_success
