"""Checks of a scheduling policy on the virtual clock: each export once, capacities kept, never stuck, order cannot matter."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rivet_core.facts import Capacities, GroupCapacity, Job
from rivet_core.testing.conformance.base import Conformance

if TYPE_CHECKING:
    from rivet_core.api import SchedulingPolicy

CAMPAIGNS = 60


def campaign(seed: int) -> tuple[tuple[Job, ...], Capacities]:
    """Return a random campaign: tight and wide groups, heavy and serial exports, waves, dependencies, equal durations."""
    dice = random.Random(seed)
    groups = {
        f"g{number}": GroupCapacity(max_connections=dice.randint(1, 6), max_heavy=dice.randint(1, 2))
        for number in range(dice.randint(1, 4))
    }
    jobs: list[Job] = []
    for number in range(dice.randint(0, 40)):
        group = dice.choice(sorted(groups))
        seconds = dice.choice((0.0, 1.0, 5.0, dice.uniform(0.1, 900.0)))
        jobs.append(
            Job(
                name=f"export_{number:02}",
                group=group,
                predicted_seconds=seconds,
                p90_seconds=seconds * 1.5,
                connections=dice.randint(1, groups[group].max_connections),
                heavy=dice.random() < 0.2,
                serial=dice.random() < 0.1,
                parallel_safe=dice.random() < 0.8,
                tier=dice.choice(("low", "normal", "normal", "high")),
                deadline=dice.random() < 0.1,
                wave=dice.choice((None, 1, 2, 3)),
                rank=number,
                position=number,
                last_success=dice.choice((None, 0.0, 1e9)),
                depends_on=(dice.choice(jobs).name,) if jobs and dice.random() < 0.1 else (),
            )
        )
    return tuple(jobs), Capacities(workers=dice.randint(1, 8), groups=groups)


class PolicyConformance(Conformance):
    """Set `name`."""

    CHECKS: ClassVar[int] = 6
    HOOK: ClassVar[str] = "rivet_scheduling_policies"

    def test_each_export_runs_exactly_once(self, record: SchedulingPolicy) -> None:
        """Whatever the campaign looks like: none twice, none forgotten, never stuck."""
        from rivet_core.scheduling.simulate import simulate

        for seed in range(CAMPAIGNS):
            jobs, capacities = campaign(seed)
            schedule = simulate(jobs, capacities, record).schedule
            assert sorted(run.name for run in schedule) == [job.name for job in jobs], f"campaign {seed}"

    def test_every_answer_is_a_good_one(self, record: SchedulingPolicy) -> None:
        """Core never had to replace an answer, and no capacity was exceeded."""
        from rivet_core.scheduling.simulate import simulate

        for seed in range(CAMPAIGNS):
            jobs, capacities = campaign(seed)
            result = simulate(jobs, capacities, record)
            assert result.violations == 0, f"campaign {seed}: {'; '.join(result.messages)}"

    def test_it_does_not_waste_time(self, record: SchedulingPolicy) -> None:
        """No schedule is longer than running everything one after the other."""
        from rivet_core.scheduling.simulate import simulate

        for seed in range(CAMPAIGNS):
            jobs, capacities = campaign(seed)
            alone = sum(job.predicted_seconds for job in jobs)
            assert simulate(jobs, capacities, record).makespan_seconds <= alone + 1e-6, f"campaign {seed}"

    def test_the_order_of_asking_does_not_matter(self, record: SchedulingPolicy) -> None:
        """The same exports listed in another order give the same schedule."""
        from rivet_core.scheduling.simulate import simulate

        for seed in range(CAMPAIGNS):
            jobs, capacities = campaign(seed)
            shuffled = random.Random(seed).sample(jobs, len(jobs))
            assert simulate(shuffled, capacities, record).schedule == simulate(jobs, capacities, record).schedule, seed

    def test_wrong_predictions_do_not_break_it(self, record: SchedulingPolicy) -> None:
        """Exports that last ten times longer, or no time at all, still run once each."""
        from rivet_core.scheduling.simulate import simulate

        for seed in range(CAMPAIGNS):
            jobs, capacities = campaign(seed)
            dice = random.Random(seed)
            actual = {job.name: job.predicted_seconds * dice.choice((0.0, 0.3, 1.0, 10.0)) for job in jobs}
            unknown = tuple(replace(job, p90_seconds=None) for job in jobs)
            assert simulate(unknown, capacities, record, actual).violations == 0, f"campaign {seed}"
