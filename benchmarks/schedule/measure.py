"""Runs the policies over the campaigns and collects one row per figure, so that the table can be printed and checked."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from benchmarks.schedule.families import Instance, campaigns, draw, hard_set, with_error
from benchmarks.schedule.play import Play
from rivet_core.api import SchedulingPolicy
from rivet_core.builtin.policies import builtin_policies, choose_longest, order_by_length
from rivet_core.facts import Job
from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.simulate import SimulationResult, simulate
from rivet_core.scheduling.waves import price_waves, recommend_waves
from rivet_core.scheduling.whatif import what_ifs
from rivet_core.state import read_state

POLICIES = {policy.name: policy for policy in builtin_policies()}
RUST_WAVES = SchedulingPolicy(
    name="rust-waves",
    summary="barriers, longest first inside, not parallel_safe one at a time",
    order=order_by_length,
    next=choose_longest,
    waves=True,
)


@dataclass(frozen=True)
class Row:
    """One line of the table. `met` is `None` for rows that have no target."""

    target: str
    what: str
    figure: str
    wanted: str
    met: bool | None


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value with at least `share` of the values at or below it."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered)) - 1))]


def run(instance: Instance, name: str) -> SimulationResult:
    """Return the simulated campaign under a built-in policy, with its true durations on the clock."""
    return simulate(instance.jobs, instance.capacities, POLICIES[name], instance.actual)


def measure_pool(instances: Sequence[Instance]) -> list[Row]:
    """T1 and the rows of the Rust tool's rules on the same campaigns."""
    ours = [run(instance, "bottleneck") for instance in instances]
    ratios = [result.ratio for result in ours]
    share = sum(ratio <= 1.05 for ratio in ratios) / len(ratios)
    theirs = [run(instance, "longest-first").ratio for instance in instances]
    packed = [
        simulate(packed_waves(instance), instance.capacities, RUST_WAVES, instance.actual).ratio for instance in instances
    ]
    violations = sum(result.violations for result in ours)
    worst = max(zip(ratios, instances, strict=True), key=lambda pair: pair[0])
    rows = [
        Row("T1", "bottleneck: share within 1.05 LB", f"{share:.1%}", ">= 98 %", share >= 0.98),
        _at_most("T1", "bottleneck: p95 makespan / LB", quantile(ratios, 0.95), 1.01),
        _at_most("T1", f"bottleneck: max ({worst[1].family} {worst[1].seed})", worst[0], 1.10),
        _plain("T1", "Rust rules, pool longest-first (under our caps)", theirs),
        _plain("T1", "Rust rules, 4 packed waves (under our caps)", packed),
        Row("T3", "violations in these schedules", str(violations), "0", violations == 0),
    ]
    for family in dict.fromkeys(instance.family for instance in instances):
        found = [ratio for ratio, instance in zip(ratios, instances, strict=True) if instance.family == family]
        rows.append(_plain("", f"  bottleneck, {family} ({len(found)})", found))
    return rows


def measure_error(instances: Sequence[Instance]) -> list[Row]:
    """T2: the same campaigns with every prediction off by sigma 0.5 and 1.0."""
    rows = []
    for sigma, limit in ((0.5, 1.01), (1.0, 1.05)):
        ratios = [run(with_error(instance, sigma), "bottleneck").ratio for instance in instances]
        rows.append(_at_most("T2", f"bottleneck, prediction error sigma {sigma}: p95", quantile(ratios, 0.95), limit))
    return rows


def measure_fast_lane(instances: Sequence[Instance]) -> list[Row]:
    """T4: how fresh the exports with tier high are, and what that costs."""
    lane = [run(instance, "fast-lane") for instance in instances]
    fresh = [result.fresh_mean_ratio for result in lane if result.fresh_mean_ratio is not None]
    longest = [result.fresh_mean_ratio or 0.0 for result in (run(instance, "longest-first") for instance in instances)]
    return [
        _at_most("T4", "fast-lane: mean end of tier high / LB", sum(fresh) / len(fresh), 0.06),
        _at_most("T4", "fast-lane: p95 makespan / LB", quantile([result.ratio for result in lane], 0.95), 1.03),
        Row("T4", "Rust rules, pool: mean end of tier high / LB", f"{sum(longest) / len(longest):.3f}", "", None),
    ]


def measure_waves(instances: Sequence[Instance]) -> list[Row]:
    """T5: four waves asked; cost against the bound, and how well the plan foresees that cost."""
    waves, pool = POLICIES["waves-bottleneck"], POLICIES["bottleneck"]
    ratios, misses = [], []
    for instance in instances:
        plan = recommend_waves(instance.jobs, instance.capacities, 4)
        if plan.free_waves < 2:
            continue
        jobs = plan.assign(instance.jobs)
        real = simulate(jobs, instance.capacities, waves, instance.actual)
        without = simulate(jobs, instance.capacities, pool, instance.actual)
        foreseen = price_waves(*(simulate(jobs, instance.capacities, policy) for policy in (waves, pool)))
        ratios.append(real.ratio)
        misses.append(abs(real.makespan_seconds / without.makespan_seconds - 1.0 - foreseen.share) * 100)
    within = sum(miss <= 5.0 for miss in misses) / len(misses)
    return [
        _at_most("T5", f"4 waves where free_waves >= 2 ({len(ratios)}): median / LB", quantile(ratios, 0.5), 1.06),
        _at_most("T5", "4 waves: p95 / LB", quantile(ratios, 0.95), 1.28),
        Row("T5", "price of barriers foreseen within 5 points", f"{within:.1%}", "100 %", within >= 1.0),
        Row("T5", "price of barriers: points off, p95 / max", f"{quantile(misses, 0.95):.1f} / {max(misses):.1f}", "", None),
    ]


def measure_hard(count: int) -> list[Row]:
    """T11: one heavy export per group at a time."""
    found = list(hard_set(count))
    ratios = [run(instance, "bottleneck").ratio for instance in found]
    even = [run(balance(instance), "bottleneck").ratio for instance in found]
    return [
        _at_most("T11", f"hard set ({count}), groups as drawn: p95", quantile(ratios, 0.95), 1.08),
        _at_most("T11", f"hard set ({count}), groups of equal work: p95", quantile(even, 0.95), 1.08),
        _plain("T11", "hard set, groups of equal work", even),
    ]


def measure_speed() -> list[Row]:
    """T6, the scheduling part: bound, what-ifs, waves and schedule of 10,000 exports, and the cost of one claim; CPU time."""
    instance = draw("small10k", 0)
    jobs, capacities = instance.jobs, instance.capacities
    steps = []
    for name, action in (
        ("lower bound", lambda: lower_bound(jobs, capacities)),
        ("what-ifs", lambda: what_ifs(jobs, capacities)),
        ("4 waves", lambda: recommend_waves(jobs, capacities, 4)),
        ("schedule (bottleneck)", lambda: simulate(jobs, capacities, POLICIES["bottleneck"])),
    ):
        started = time.process_time()
        action()
        steps.append((name, time.process_time() - started))
    total = sum(seconds for _, seconds in steps)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = [Row("", f"  10,000 exports: {name}", f"{seconds:.3f} CPU s", "", None) for name, seconds in steps]
    rows.append(Row("T6", "10,000 exports: bound, what-ifs, waves, schedule", f"{total:.2f} CPU s", "<= 4 s", total <= 4.0))
    for name in ("bottleneck", "fast-lane", "longest-first", "waves"):
        cost = claim_cost(instance, name) * 1e6
        rows.append(Row("T6", f"one claim, 10,000 waiting, {name} (median)", f"{cost:.1f} us", "< 50 us", cost < 50.0))
    rows.append(Row("", "  peak memory of this process", f"{peak:.0f} MB", "", None))
    return rows


def measure_disturbance(events: int) -> list[Row]:
    """T3: the real executor on a virtual clock: starts, ends, failures, retries, cancels; the capacities counted outside."""
    rng, done, wrong, seed = random.Random("events"), 0, 0, 0
    names = list(POLICIES)
    with read_state("sqlite:///none.db") as state:
        while done < events:
            instance = disturb(draw(rng.choice(["replica", "tight", "narrow", "scan"]), seed), rng)
            play = Play(instance.jobs, instance.capacities, POLICIES[names[seed % len(names)]], state, rng)
            play.play(failing=0.03, cancelling=0.0002)
            done, wrong, seed = done + play.events, wrong + len(play.wrong), seed + 1
    return [Row("T3", f"broken promises in {done:,} events of the executor", str(wrong), "0", wrong == 0)]


def claim_cost(instance: Instance, name: str) -> float:
    """Return the median seconds of a successful claim over a whole schedule."""
    dispatcher = Dispatcher(instance.jobs, instance.capacities, POLICIES[name])
    costs, running = [], []
    while True:
        started = time.perf_counter()
        job = dispatcher.claim()
        spent = time.perf_counter() - started
        if job is not None:
            costs.append(spent)
            running.append(job.name)
        elif running:
            dispatcher.finish(running.pop(0))
        else:
            return quantile(costs, 0.5)


def disturb(instance: Instance, rng: random.Random) -> Instance:
    """Return `instance` with inner parallelism, serial exports, waves and dependencies sprinkled in."""
    jobs: list[Job] = []
    for job in instance.jobs:
        before = (rng.choice(jobs).name,) if jobs and rng.random() < 0.1 else ()
        jobs.append(
            replace(
                job,
                connections=rng.choice((1, 1, 1, 2, 8)),
                serial=rng.random() < 0.05,
                wave=rng.choice((None, 1, 2, 3)),
                depends_on=before,
            )
        )
    return replace(instance, jobs=tuple(jobs))


def balance(instance: Instance) -> Instance:
    """Return `instance` with the same true work in every group, so that no group is the bottleneck by chance."""
    work: dict[str, float] = {}
    for job in instance.jobs:
        work[job.group] = work.get(job.group, 0.0) + instance.actual[job.name]
    mean = sum(work.values()) / len(work)
    factor = {job.name: mean / work[job.group] for job in instance.jobs}
    jobs = tuple(
        replace(
            job,
            predicted_seconds=job.predicted_seconds * factor[job.name],
            p90_seconds=(job.p90_seconds or job.predicted_seconds) * factor[job.name],
        )
        for job in instance.jobs
    )
    return replace(instance, jobs=jobs, actual={name: seconds * factor[name] for name, seconds in instance.actual.items()})


def packed_waves(instance: Instance) -> tuple[Job, ...]:
    """Return the jobs cut into four waves of equal count in rank order, as the Rust tool packs them."""
    ordered = sorted(instance.jobs, key=lambda job: job.rank)
    wave = {job.name: 1 + 4 * place // len(ordered) for place, job in enumerate(ordered)}
    return tuple(replace(job, wave=wave[job.name]) for job in instance.jobs)


def all_rows(*, quick: bool) -> Iterable[Row]:
    """Yield every row, section by section; `quick` takes 8 campaigns a family instead of 40."""
    instances = list(campaigns(8 if quick else 40, 1 if quick else 5))
    yield from measure_pool(instances)
    yield from measure_error(instances)
    yield from measure_fast_lane(instances)
    yield from measure_waves(instances)
    yield from measure_hard(50 if quick else 200)
    yield from measure_disturbance(50_000 if quick else 1_000_000)
    yield from measure_speed()


def _at_most(target: str, what: str, value: float, limit: float) -> Row:
    return Row(target, what, f"{value:.4f}", f"<= {limit}", value <= limit)


def _plain(target: str, what: str, values: Sequence[float]) -> Row:
    figure = f"{quantile(values, 0.5):.3f} / {quantile(values, 0.95):.3f} / {max(values):.3f}"
    return Row(target, what, figure, "(median / p95 / max)", None)
