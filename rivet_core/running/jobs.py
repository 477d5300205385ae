"""Tasks as the scheduler sees them, and the policy that a caller's choices come down to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rivet_core.api import SchedulingPolicy
from rivet_core.artifact import Plan
from rivet_core.errors import ConfigError
from rivet_core.facts import Capacities, GroupCapacity, Job, RunFact, connections_of
from rivet_core.plugins import Registry
from rivet_core.running.task import ExportTask
from rivet_core.scheduling.automatic import automatic_policy
from rivet_core.scheduling.shares import SplitIn, with_shares

UNKNOWN_SECONDS = 5.0
"""Predicted time of an export that the plan has none for."""


def capacities_of(plan: Plan, tasks: Iterable[ExportTask], workers: int) -> Capacities:
    """Return the campaign's workers and the capacity of every group that a task needs."""
    groups = {
        name: GroupCapacity(max_connections=g.max_connections, max_heavy=g.max_heavy, assumed=g.assumed)
        for name, g in plan.source_groups.items()
    }
    for task in tasks:
        groups.setdefault(task.group, GroupCapacity(max_connections=workers, max_heavy=1, assumed=True))
    return Capacities(workers=workers, groups=groups)


def jobs_of(
    tasks: Sequence[ExportTask], capacities: Capacities, histories: Mapping[str, Sequence[RunFact]], *, whole: bool = False
) -> tuple[Job, ...]:
    """Return a job per task, or unless `whole` one per share. Dependencies on exports outside of the campaign count as done.

    Hand-set waves are kept as they stand; without any the plan's recommended ones hold.
    """
    names = {task.name for task in tasks}
    hand_set = any(task.wave is not None for task in tasks)
    jobs = []
    for task in tasks:
        group = capacities.groups[task.group]
        ended = (run.finished_at for run in histories.get(task.name, ()) if run.status == "succeeded" and run.finished_at)
        last = next(ended, None)
        seconds = UNKNOWN_SECONDS if task.predicted_seconds is None else task.predicted_seconds
        jobs.append(
            Job(
                name=task.name,
                group=task.group,
                predicted_seconds=seconds,
                p90_seconds=task.p90,
                connections=min(_widest(task), group.max_connections),
                heavy=task.heavy,
                serial=task.spec.parallel_safe is False,
                parallel_safe=task.parallel_safe,
                tier=task.tier,
                deadline=task.deadline_near,
                wave=task.wave if hand_set else task.recommended_wave,
                rank=task.rank,
                position=task.position,
                last_success=last.timestamp() if last else None,
                depends_on=tuple(name for name in task.spec.depends_on if name in names),
            )
        )
    splits = {task.name: SplitIn(units=len(task.units), shares=task.split_in) for task in tasks if task.split_in}
    return with_shares(jobs, {} if whole else splits)


def _widest(task: ExportTask) -> int:
    return connections_of(task.spec.parallel, len(task.units), task.spec.snapshot)


def choose_policy(
    plan: Plan, tasks: Sequence[ExportTask], registry: Registry, *, policy: str | None, pool: int | None
) -> SchedulingPolicy:
    """Return the policy: the caller's, else for a pool one without barriers, else the plan's."""
    name = policy
    if name in (None, "auto"):
        name = plan.campaign.policy.name
        if pool is not None:
            promised = any(task.tier == "high" or task.spec.value.deadline for task in tasks)
            name = automatic_policy(hand_set=False, promised=promised)
    if name not in registry.policies:
        raise ConfigError(
            f"there is no scheduling policy {name}",
            hint=f"policies: auto, {', '.join(sorted(registry.policies))}",
            code="unknown_policy",
        )
    return registry.policies[str(name)].record
