"""Runs the policies over the campaigns: the targets T1, T2, T4, T5 and T11, the Rust tool's rules on the same ones beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.schedule.families import POLICIES, Instance, hard_set, run, with_error
from benchmarks.schedule.row import Row, at_most, quantile, spread
from benchmarks.schedule.rust import most_above_caps, rust_pool, rust_waves
from rivet_core.scheduling.price import price_bounds, price_waves
from rivet_core.scheduling.simulate import simulate
from rivet_core.scheduling.waves import recommend_waves


def measure_pool(instances: Sequence[Instance]) -> list[Row]:
    """T1, and what the Rust tool's rules make of the same campaigns."""
    ours = [run(instance, "bottleneck") for instance in instances]
    ratios = [result.ratio for result in ours]
    share = sum(ratio <= 1.05 for ratio in ratios) / len(ratios)
    violations = sum(result.violations for result in ours)
    worst = max(zip(ratios, instances, strict=True), key=lambda pair: pair[0])
    above = [most_above_caps(instance) for instance in instances]
    rows = [
        Row("T1", "bottleneck: share within 1.05 LB", f"{share:.1%}", ">= 98 %", share >= 0.98),
        at_most("T1", "bottleneck: p95 makespan / LB", quantile(ratios, 0.95), 1.01),
        at_most("T1", f"bottleneck: max ({worst[1].family} {worst[1].seed})", worst[0], 1.10),
        spread("T1", "Rust tool's rules: pool, longest first, one serial token", [rust_pool(one).ratio for one in instances]),
        spread("T1", "Rust tool's rules: 4 packed waves", [rust_waves(one).ratio for one in instances]),
        Row("T3", "violations in these schedules", str(violations), "0", violations == 0),
        Row(
            "T3",
            "Rust tool's rules, which know no groups: most above a cap",
            f"{max(found[0] for found in above)} connections, {max(found[1] for found in above)} heavy",
        ),
    ]
    for family in dict.fromkeys(instance.family for instance in instances):
        found = [ratio for ratio, instance in zip(ratios, instances, strict=True) if instance.family == family]
        rows.append(spread("", f"  bottleneck, {family} ({len(found)})", found))
    return rows


def measure_error(instances: Sequence[Instance]) -> list[Row]:
    """T2: the same campaigns with every prediction off by sigma 0.5 and 1.0."""
    rows = []
    for sigma, limit in ((0.5, 1.01), (1.0, 1.05)):
        ratios = [run(with_error(instance, sigma), "bottleneck").ratio for instance in instances]
        rows.append(at_most("T2", f"bottleneck, prediction error sigma {sigma}: p95", quantile(ratios, 0.95), limit))
    return rows


def measure_fast_lane(instances: Sequence[Instance]) -> list[Row]:
    """T4: how fresh the exports with tier high are, and what that costs."""
    lane = [run(instance, "fast-lane") for instance in instances]
    fresh = [result.fresh_mean_ratio for result in lane if result.fresh_mean_ratio is not None]
    theirs = [rust_pool(instance).fresh_mean_ratio or 0.0 for instance in instances]
    return [
        at_most("T4", "fast-lane: mean end of tier high / LB", sum(fresh) / len(fresh), 0.06),
        at_most("T4", "fast-lane: p95 makespan / LB", quantile([result.ratio for result in lane], 0.95), 1.03),
        Row("T4", "Rust tool's rules: mean end of tier high / LB", f"{sum(theirs) / len(theirs):.4f}"),
    ]


def measure_waves(instances: Sequence[Instance]) -> list[Row]:
    """T5: four waves asked; cost against the bound, and how well the plan foresees that cost."""
    waves, pool = POLICIES["waves-bottleneck"], POLICIES["bottleneck"]
    ratios, theirs, misses, outside = [], [], [], []
    for instance in instances:
        plan = recommend_waves(instance.jobs, instance.capacities, 4)
        if plan.free_waves < 2:
            continue
        jobs = plan.assign(instance.jobs)
        real = simulate(jobs, instance.capacities, waves, instance.actual)
        without = simulate(jobs, instance.capacities, pool, instance.actual)
        foreseen = price_waves(*(simulate(jobs, instance.capacities, policy) for policy in (waves, pool)))
        ratios.append(real.ratio)
        theirs.append(rust_waves(instance).ratio)
        paid = max(0.0, real.makespan_seconds / without.makespan_seconds - 1.0) * 100
        misses.append(abs(paid - foreseen.share * 100))
        if (bounds := price_bounds(jobs, instance.capacities, waves, pool)) is not None:
            outside.append(max(bounds[0] * 100 - paid, paid - bounds[1] * 100, 0.0))
    within = sum(miss <= 5.0 for miss in misses) / len(misses)
    return [
        at_most("T5", f"4 waves where free_waves >= 2 ({len(ratios)}): median / LB", quantile(ratios, 0.5), 1.06),
        at_most("T5", "4 waves: p95 / LB", quantile(ratios, 0.95), 1.28),
        spread("T5", "Rust tool's rules: 4 packed waves, under our caps", theirs),
        Row("T5", "price of barriers foreseen within 5 points", f"{within:.1%}", "100 %", within >= 1.0),
        Row(
            "T5",
            f"price within 5 points of the bounds shown ({len(outside)}): share / points off at most",
            f"{sum(points <= 5.0 for points in outside) / len(outside):.1%} / {max(outside):.1f}",
        ),
        Row("T5", "price of barriers: points off, p95 / max", f"{quantile(misses, 0.95):.1f} / {max(misses):.1f}"),
    ]


def measure_hard(count: int) -> list[Row]:
    """T11: one heavy export per group at a time."""
    found = list(hard_set(count))
    ratios = [run(instance, "bottleneck").ratio for instance in found]
    even = [run(balance(instance), "bottleneck").ratio for instance in found]
    return [
        at_most("T11", f"hard set ({count}), groups as drawn: p95", quantile(ratios, 0.95), 1.08),
        at_most("T11", f"hard set ({count}), groups of equal work: p95", quantile(even, 0.95), 1.08),
        spread("T11", "hard set, groups of equal work", even),
    ]


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
