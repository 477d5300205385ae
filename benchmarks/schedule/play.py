"""Plays campaigns on the real executor and dispatcher with a clock of its own: ends, failures, retries, cancels at random.

Nothing is read: a running export is a name with a time at which it ends. What is counted here is counted apart from the
dispatcher, so that a capacity exceeded there shows here.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from rivet_core.api import SchedulingPolicy
from rivet_core.errors import DestinationError, InternalError, RivetError, SourceError
from rivet_core.facts import Capacities, DestinationRef, ExportSpec, Job
from rivet_core.running.context import RunContext
from rivet_core.running.events import Events
from rivet_core.running.executor import Executor
from rivet_core.running.layout import Layout
from rivet_core.running.outcome import DONE, FAILED, NOT_STARTED, SKIPPED, ExportOutcome
from rivet_core.running.retry import Budget
from rivet_core.running.stop import Stop
from rivet_core.running.task import ExportTask
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.resources import group_capacity
from rivet_core.state import StateStore

FAILURES: tuple[RivetError, ...] = (
    SourceError("the table is gone", error_class="missing"),
    SourceError("connection lost", error_class="connection", transient=True),
    SourceError("wrong password", error_class="auth"),
    DestinationError("no space left", error_class="space"),
    InternalError("a bug"),
)
"""What an export may fail with: of its own, shared by a source, shared by a destination."""


class Play:
    """One campaign under way. `wrong` collects every broken promise; `events` counts starts, ends and retries."""

    def __init__(
        self,
        jobs: Sequence[Job],
        capacities: Capacities,
        policy: SchedulingPolicy,
        state: StateStore,
        rng: random.Random,
        *,
        fail_fast: bool = False,
    ) -> None:
        self.jobs = {job.name: job for job in jobs}
        self.capacities = capacities
        self.policy = policy
        self.rng = rng
        self.now = 0.0
        self.events = 0
        self.running: dict[str, float] = {}
        self.results: dict[str, str] = {}
        self.exports = {job.export for job in jobs}
        self.ended: Counter[str] = Counter()
        self.errors: dict[str, RivetError] = {}
        self.chained = any(job.depends_on for job in jobs)  # a dependency lifts others out of their waves
        self.wrong: list[str] = []
        self.stop = Stop()
        self.budget = Budget(len(jobs))
        context = RunContext(state=state, events=Events(None), budget=self.budget, stop=self.stop)
        self.dispatcher = Dispatcher(jobs, capacities, policy)
        tasks = {job.export: task_of(job, position) for position, job in enumerate(jobs)}
        self.executor = Executor(self.dispatcher, tasks, context, self._late, fail_fast=fail_fast)

    @property
    def over(self) -> bool:
        """Whether nothing runs and nothing will start."""
        return not self.running and self.executor.over

    def start(self) -> None:
        """Let idle workers claim until nothing more may start."""
        while len(self.running) < self.capacities.workers and (job := self.executor.start_next()) is not None:
            self.events += 1
            self._check_start(job)
            self.running[job.name] = self.now + self.rng.expovariate(1.0 / max(0.1, job.predicted_seconds))
            self._check_capacities(job)
        if not self.running and not self.executor.over:
            self.wrong.append("nothing runs and nothing may start: a deadlock")

    def retry(self) -> None:
        """Let a running export try a unit again: it takes longer, and the campaign has one retry less."""
        if self.running and self.budget.take():
            name = self.rng.choice(list(self.running))
            self.running[name] += self.rng.random()
            self.events += 1

    def end_one(self, failing: float = 0.1) -> None:
        """Move the clock to the next end; the export fails with this probability, and always once all was cancelled."""
        if not self.running:
            return
        name = min(self.running, key=lambda one: (self.running[one], one))
        self.now = max(self.now, self.running.pop(name))
        self.events += 1
        error: RivetError | None = None
        if self.stop.event.is_set():
            error = self.stop.error()
        elif self.rng.random() < failing:
            error = self.rng.choice(FAILURES)
        job = self.jobs[name]
        error = self.errors.get(job.export) or error
        if error is not None:
            self.errors[job.export] = error
        self.ended[job.export] += 1
        self.executor.end(job, self._outcome(job, error), error, self.rng.random())

    def _outcome(self, job: Job, error: RivetError | None) -> ExportOutcome | None:
        """Return the outcome of an export when its last share ends, or the last one beside a share that failed."""
        if any(self.jobs[name].export == job.export for name in self.running):
            return None
        if error is None and self.ended[job.export] < job.shares:
            return None
        outcome = ExportOutcome(name=job.export, status=FAILED if error else DONE)
        self.results[job.export] = outcome.status
        return outcome

    def _late(self, job: Job) -> tuple[ExportOutcome | None, RivetError | None]:
        """Stand for the work: the player itself decides how a job ends, but for the shares that a stop leaves over."""
        if not self.stop.event.is_set() or not self.ended[job.export] or job.export in self.results:
            raise AssertionError(f"{job.name} was run by a worker")
        error = self.stop.error()
        return self._outcome(job, error), error

    def cancel(self) -> None:
        """Ctrl-C."""
        self.stop.request("Ctrl-C", 130)
        self.executor.wake()
        self.events += 1

    def play(self, *, failing: float, cancelling: float) -> None:
        """Play to the end."""
        while not self.over and not self.wrong:
            self.start()
            if self.rng.random() < 0.05:
                self.retry()
            if self.rng.random() < cancelling:
                self.cancel()
            self.end_one(failing)
        self.close()

    def close(self) -> None:
        """Check the accounts: every export has one outcome, the one that happened."""
        self.executor.close()
        outcomes = self.executor.outcomes
        if set(outcomes) != self.exports:
            self.wrong.append(f"no outcome for {sorted(self.exports - set(outcomes))}")
        if len(set(self.executor.order)) != len(self.executor.order):
            self.wrong.append("an export started twice")
        for name, outcome in outcomes.items():
            if name in self.results and outcome.status != self.results[name]:
                self.wrong.append(f"{name} was {self.results[name]} and is reported {outcome.status}")
            if name not in self.results and outcome.status not in (SKIPPED, NOT_STARTED):
                self.wrong.append(f"{name} never ran and is reported {outcome.status}")
            if outcome.status == SKIPPED and not any(
                before in outcomes and outcomes[before].status != DONE for before in self._waits_for(name)
            ):
                self.wrong.append(f"{name} was skipped, though all it waits for was done")
        if self.dispatcher.violations:
            self.wrong.append(f"the policy was wrong: {self.dispatcher.violation_messages}")

    def _waits_for(self, export: str) -> set[str]:
        job = next(job for job in self.jobs.values() if job.export == export)
        return {self.jobs[before].export for before in job.depends_on if before in self.jobs}

    def _check_start(self, job: Job) -> None:
        if self.stop.event.is_set():
            self.wrong.append(f"{job.name} started after the stop")
        missing = [before for before in self._waits_for(job.export) if self.results.get(before) != DONE]
        if missing:
            self.wrong.append(f"{job.name} started before {missing}")
        if self.policy.waves and not self.chained and job.wave is not None:
            left = [other for other in self.jobs.values() if other.export not in self.executor.outcomes]
            lower = [other.name for other in left if other.wave is not None and other.wave < job.wave]
            if lower:
                self.wrong.append(f"{job.name} of wave {job.wave} started before {lower}")

    def _check_capacities(self, started: Job) -> None:
        if len(self.running) > self.capacities.workers:
            self.wrong.append("too many workers are busy")
        group = group_capacity(self.capacities, started.group)
        beside = [self.jobs[name] for name in self.running if self.jobs[name].group == started.group]
        taken = Counter(connections=sum(min(max(1, job.connections), group.max_connections) for job in beside))
        begun = {name for name in self.ended if name not in self.results} | {job.export for job in beside}
        holding = {job.export for job in self.jobs.values() if job.heavy and job.group == started.group}
        taken["heavy"] = len(holding & begun)
        if taken["connections"] > group.max_connections or taken["heavy"] > group.max_heavy:
            self.wrong.append(f"group {started.group} holds {dict(taken)}")
        if sum(self.jobs[name].serial for name in self.running) > 1:
            self.wrong.append("two exports hold the serial token")


def task_of(job: Job, position: int) -> ExportTask:
    """Return a task that stands for `job`: a source per group, two destinations."""
    destination = DestinationRef(type="local", options={"path": f"out{position % 2}"})
    return ExportTask(
        name=job.export,
        source=f"source of {job.group}",
        group=job.group,
        spec=ExportSpec(name=job.export, source=job.group, depends_on=job.depends_on, destination=destination),
        units=(),
        cursor_snapshot=(),
        plan_id="play",
        fingerprint="",
        history_fingerprint="",
        layout=Layout(export=job.export),
        options=destination.options,
    )
