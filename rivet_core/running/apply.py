"""Apply: the plan is the only input (PA1). Gates, preflight, the executor, and one outcome for everything."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rivet_core.artifact import Plan
from rivet_core.errors import ConfigError
from rivet_core.plugins import Registry
from rivet_core.references import resolve_text
from rivet_core.running.budget import ConnectionBudget, sharing
from rivet_core.running.connections import Connections
from rivet_core.running.context import RunContext
from rivet_core.running.credentials import with_secrets
from rivet_core.running.events import Events, Sink
from rivet_core.running.executor import Executor, is_done
from rivet_core.running.gates import (
    SOURCE_CHANGED,
    Statement,
    check_age,
    check_config,
    check_cursors,
    check_plugins,
    check_tiles,
    restated,
)
from rivet_core.running.jobs import capacities_of, choose_policy, jobs_of
from rivet_core.running.journal import Journal
from rivet_core.running.outcome import ALREADY_DONE, FAILED, CampaignOutcome, ExportOutcome
from rivet_core.running.pressure import Limits, Pressure
from rivet_core.running.retry import Budget
from rivet_core.running.signals import listening
from rivet_core.running.stop import Stop
from rivet_core.running.task import ExportTask, tasks_from_plan
from rivet_core.running.watchdog import STALL_SECONDS, Acts, watching
from rivet_core.running.work import ExportWork
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.suspects import find_suspects, message_of, own_runs
from rivet_core.scheduling.turns import alone
from rivet_core.scheduling.waiting import Waiting
from rivet_core.state import open_state

CANCEL_AGAIN_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """Choices of one `rivet apply`. `exports` empty means all; `pool` is the number of workers without barriers.

    `force` overrides PA3 (age) and PA4 (cursor) only. `lock_wait` seconds; after `stall_seconds` without rows, starts or ends
    it is told who waits for what, 0 for never. `config_dir` is what relative paths are relative to, by default the directory of
    the plan's config. `now` is the clock of PA3. `statements` is what exports read in the config as it is now: one that reads
    something else than the plan is refused (PA6).
    """

    exports: tuple[str, ...] = ()
    pool: int | None = None
    policy: str | None = None
    resume: bool = False
    force: bool = False
    lock_wait: float = 0.0
    stall_seconds: float = STALL_SECONDS
    allow_plugin_drift: bool = False
    config_dir: Path | None = None
    now: datetime | None = None
    statements: Mapping[str, Statement] = field(default_factory=dict)


@dataclass(slots=True)
class _Campaign:
    """What is collected while a campaign runs."""

    outcomes: dict[str, ExportOutcome] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    shared_causes: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    pauses: list[str] = field(default_factory=list)


def apply_plan(plan: Plan, registry: Registry, options: ApplyOptions, sink: Sink | None = None) -> CampaignOutcome:
    """Run a plan. Raises `PlanRefused` (gates), `ConfigError`, `PluginError` before anything has started; what happens to
    single exports stands in the outcome.
    """
    base = options.config_dir or Path(plan.config.path).parent
    began = time.monotonic()
    chosen = _chosen(plan, options)
    tasks = [task for task in tasks_from_plan(plan) if task.name in chosen]
    found = _Campaign()
    now = options.now or datetime.now(UTC)
    aged = check_age(plan, now, force=options.force)
    found.warnings += aged
    found.warnings += check_config(plan)
    found.warnings += check_plugins(plan, registry, tasks, allow_drift=options.allow_plugin_drift)
    for task in tasks:
        check_tiles(task)
    policy = choose_policy(plan, tasks, registry, policy=options.policy, pool=options.pool)
    workers = options.pool or plan.campaign.policy.workers
    for export in plan.exports:
        if export.status != "planned" and export.name in chosen:
            found.outcomes[export.name] = _unplannable(export)
    with open_state(_state_url(plan, base), base=base) as state, Journal(state, plan.plan_id, sink) as journal:
        committed = state.committed_by_plan(plan.plan_id)
        for task in tasks:
            if task.name in committed:
                found.outcomes[task.name] = ExportOutcome(
                    name=task.name, status=ALREADY_DONE, reason="this plan had committed it"
                )
        tasks = [task for task in tasks if task.name not in committed]
        moved = check_cursors(tasks, state, force=options.force)
        found.warnings += moved
        acts = Acts()
        events = Events(journal, acts.see)
        events.emit("campaign_started", plan_id=plan.plan_id, policy=policy.name, workers=workers, exports=len(tasks))
        for warning in found.warnings:
            events.emit("warning", message=warning)
        stop = Stop()
        context = RunContext(
            state=state,
            events=events,
            budget=Budget(sum(len(task.units) for task in tasks), _at_once(plan, tasks, workers)),
            stop=stop,
            acts=acts,
            pressure=Pressure(_limits(plan), events, stop),
            resume=options.resume,
            force=options.force,
        )
        _run(plan, registry, tasks, policy, workers, context, found, options, base)
        outcome = CampaignOutcome(
            plan_id=plan.plan_id,
            policy=policy.name,
            workers=workers,
            seconds=time.monotonic() - began,
            exports=tuple(found.outcomes[name] for name in chosen if name in found.outcomes),
            warnings=tuple(found.warnings),
            shared_causes=tuple(found.shared_causes),
            forced=(*(aged if now >= plan.expires_at else ()), *moved) if options.force else (),
            interrupted=stop.code,
            order=tuple(found.order),
            pauses=tuple(found.pauses),
            predicted_seconds=_predicted(plan, policy.name, workers, len(tasks)),
        )
        events.emit("campaign_finished", **outcome.headline())
    if journal.failure is not None:
        said = f"the journal of this run is not complete: {journal.failure.message}"
        outcome = replace(outcome, warnings=(*outcome.warnings, said), unrecorded=journal.failure.exit_code)
    return outcome


def _limits(plan: Plan) -> dict[str, Limits]:
    """Return what each group bears before nothing new is read from it."""
    return {
        name: Limits(lag_seconds=group.max_lag_seconds, lock_waits=group.max_lock_waits)
        for name, group in plan.source_groups.items()
    }


def _at_once(plan: Plan, tasks: Sequence[ExportTask], workers: int) -> int:
    """Return how many units can be read at one moment."""
    groups = capacities_of(plan, tasks, workers).groups
    return sum(groups[name].max_connections for name in {task.group for task in tasks})


def _run(
    plan: Plan,
    registry: Registry,
    tasks: Sequence[ExportTask],
    policy: Any,
    workers: int,
    context: RunContext,
    found: _Campaign,
    options: ApplyOptions,
    base: Path,
) -> None:
    """Run the tasks: those that keep failing alike come last, each alone on its group."""
    pressure = context.pressure or Pressure({}, context.events, context.stop)
    capacities = capacities_of(plan, tasks, workers)
    histories = context.state.histories(10)
    suspects = find_suspects(
        {task.name: own_runs(histories.get(task.name, ()), task.history_fingerprint) for task in tasks},
        {task.name: task.spec.depends_on for task in tasks},
    )
    turns = {task.name: suspects[task.name].turn if task.name in suspects else 0 for task in tasks}
    budget = ConnectionBudget(capacities, context.state.leases)
    connections = Connections(plan, registry, budget, context.stop, context.acts, pressure, base=base)
    active: list[Executor] = []

    def changed() -> None:
        for executor in list(active):
            executor.look()

    pressure.told = changed
    over = threading.Event()

    def stopped(name: str, code: int) -> None:
        context.stop.request(name, code)
        context.state.hurry()
        while True:  # a statement may begin just now, on its way when the first cancel came
            connections.cancel()
            for executor in list(active):
                executor.wake()
            if over.wait(CANCEL_AGAIN_SECONDS):
                return

    def waiting() -> list[Waiting]:
        return [found for executor in list(active) for found in executor.waiting()]

    watch = watching(context.acts, context.events, waiting, stall_seconds=options.stall_seconds)
    try:
        with listening(stopped), sharing(budget), pressure.watching(connections.lend), watch, _setting(over):
            failed = connections.open(tasks) if tasks else {}
            drifted = connections.drifted(tasks) | restated(tasks, options.statements)
            for source in {task.source for task in tasks if task.name in drifted and drifted[task.name].code == SOURCE_CHANGED}:
                context.state.expire_snapshots(source)  # the next plan must not see the old columns again
            for task in tasks:
                if task.name in suspects:
                    found.warnings.append(message_of(task.name, suspects[task.name], task.group))
                    context.events.emit("warning", message=found.warnings[-1])
            for turn in sorted(set(turns.values())):
                members = [task for task in tasks if turns[task.name] == turn]
                jobs = jobs_of(members, capacities, histories, whole=turn > 0)
                dispatcher = Dispatcher(alone(jobs, capacities) if turn else jobs, capacities, policy)
                by_name = {task.name: task for task in members}
                work = ExportWork(by_name, connections, budget, context, lock_wait=options.lock_wait)
                executor = Executor(dispatcher, by_name, context, work, fail_fast=plan.fail_fast)
                active.append(executor)
                executor.block(failed)
                for name in drifted.keys() & by_name.keys():
                    executor.refuse(name, drifted[name])
                _skip_behind(executor, members, found.outcomes)
                if context.stop.event.is_set() or (plan.fail_fast and any(o.status == FAILED for o in found.outcomes.values())):
                    dispatcher.drain(context.stop.why or "fail_fast: another export failed")
                executor.run()
                for message in dispatcher.violation_messages:
                    found.warnings.append(message)
                    context.events.emit("warning", message=message)
                found.outcomes |= executor.outcomes
                found.order += executor.order
                found.shared_causes += executor.shared_causes
    finally:
        found.pauses += pressure.summary()
        connections.close()


def _predicted(plan: Plan, policy: str, workers: int, exports: int) -> float | None:
    """Return the plan's prediction where what ran is what it was made for."""
    said = plan.campaign.predicted
    alike = (said.policy, said.workers, len(plan.campaign.ordered_exports)) == (policy, workers, exports)
    return said.makespan_seconds if alike else None


@contextlib.contextmanager
def _setting(over: threading.Event) -> Iterator[None]:
    try:
        yield
    finally:
        over.set()


def _skip_behind(executor: Executor, members: Sequence[ExportTask], outcomes: dict[str, ExportOutcome]) -> None:
    """Skip what depends on an export that is not in this dispatcher and was not done."""
    for task in members:
        missing = next((name for name in task.spec.depends_on if name in outcomes and not is_done(outcomes[name])), None)
        if missing is not None:
            executor.skip(task.name, missing)


def _chosen(plan: Plan, options: ApplyOptions) -> list[str]:
    names = [export.name for export in plan.exports]
    unknown = [name for name in options.exports if name not in names]
    if unknown:
        raise ConfigError(
            f"the plan has no export {unknown[0]}", hint=f"exports: {', '.join(names[:20])}", code="unknown_export"
        )
    return [name for name in names if not options.exports or name in options.exports]


def _unplannable(export: Any) -> ExportOutcome:
    error = export.error
    code, message, hint = (error.code, error.message, error.hint) if error else ("unplannable", "could not be planned", "")
    plain = {"code": code, "message": message, "hint": hint, "exit_code": 1}
    return ExportOutcome(name=export.name, status=FAILED, reason="could not be planned", error=plain)


def _state_url(plan: Plan, base: Path) -> str:
    url = with_secrets({"url": plan.state.url}, plan.config)["url"]
    return resolve_text(str(url), base=base)
