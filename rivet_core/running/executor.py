"""The executor: worker threads over one dispatcher, waiting on a condition variable, never polling for work."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence

from rivet_core.errors import RivetError
from rivet_core.facts import Job, Json
from rivet_core.facts.plural import several
from rivet_core.running.breaker import Breaker
from rivet_core.running.connections import Cause, destination_key
from rivet_core.running.context import RunContext
from rivet_core.running.outcome import DONE, FAILED, NOT_STARTED, SKIPPED, ExportOutcome
from rivet_core.running.stop import StoppedError
from rivet_core.running.task import ExportTask
from rivet_core.running.unexpected import unexpected
from rivet_core.running.verdict import plain
from rivet_core.running.work import Work
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.waiting import Waiting, why_waiting

STATE = ("state", "")
STATE_CODES = frozenset({"state_failed", "state_damaged"})
"""What an export fails with when the state cannot be written: nothing can be committed then."""

LOOK_SECONDS = 1.0
"""How long the watchdog waits for the lock; it must have something to say also where that is the trouble."""


class Executor:
    """Runs the jobs of one dispatcher to their end."""

    def __init__(
        self, dispatcher: Dispatcher, tasks: Mapping[str, ExportTask], context: RunContext, work: Work, *, fail_fast: bool
    ) -> None:
        self._dispatcher = dispatcher
        self._tasks = tasks
        self._context = context
        self._work = work
        self._fail_fast = fail_fast
        self._changed = threading.Condition()
        self._held = context.pressure.why if context.pressure is not None else None
        self._breaker = Breaker()
        self._news: deque[tuple[str, str, dict[str, Json]]] = deque()
        self._jobs: dict[str, list[str]] = {}
        self._export_of: dict[str, str] = {}
        for job in dispatcher.waiting_jobs():
            self._jobs.setdefault(job.export, []).append(job.name)
            self._export_of[job.name] = job.export
        self.outcomes: dict[str, ExportOutcome] = {}
        self.order: list[str] = []
        self._started: set[str] = set()
        self._behind: dict[str, list[str]] = {}
        self._bug: RivetError | None = None
        self.shared_causes: list[str] = []

    def run(self) -> None:
        """Start the workers and wait for them; every job has an outcome afterwards."""
        count = min(self._dispatcher.capacities.workers, max(1, self._dispatcher.waiting))
        workers = [threading.Thread(target=self._serve, name=f"rivet-worker-{number}", daemon=True) for number in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.close()

    def start_next(self) -> Job | None:
        """Start the next job and return it, `None` while nothing may start. Workers hold the lock around it."""
        job = None if self._context.stop.event.is_set() else self._dispatcher.claim(self._held)
        if job is not None and job.export not in self._started:
            self._started.add(job.export)
            self.order.append(job.export)
        return job

    @property
    def over(self) -> bool:
        """Whether nothing will start any more."""
        return self._dispatcher.finished or self._context.stop.event.is_set() or self._bug is not None

    def close(self) -> None:
        """Give every export that never started its outcome, and those of which a share never did."""
        why = self._context.stop.why or self._dispatcher.drained or "interrupted"
        for job in self._dispatcher.waiting_jobs():
            if job.export in self._started:
                if job.export not in self.outcomes:
                    outcome, _ = self._work(job)  # after a stop it reads nothing, and ends what had begun
                    self._keep(job, outcome)
            else:
                self.outcomes[job.export] = ExportOutcome(
                    name=job.export,
                    status=NOT_STARTED,
                    reason=f"not started: {why}",
                    error=None if self._bug is None else plain(self._bug),
                )
        for name, jobs in self._behind.items():
            self._skip_all(jobs, name)
        self._tell()

    def wake(self) -> None:
        """Let waiting workers look again, after a stop was requested."""
        with self._changed:
            self._dispatcher.drain(self._context.stop.why or "interrupted")
            self._changed.notify_all()

    def look(self) -> None:
        """Let waiting workers look again, after a group was paused or goes on."""
        with self._changed:
            self._changed.notify_all()

    def block(self, causes: Mapping[Cause, RivetError]) -> None:
        """Take out what depends on a source or destination that could not be opened: the shared cause at once (M01)."""
        with self._changed:
            for cause, error in causes.items():
                self._close_off(cause, error)
                if self._fail_fast:
                    self._dispatcher.drain(f"fail_fast: {error.message}")
        self._tell()

    def refuse(self, name: str, error: RivetError) -> None:
        """Record that an export fails before it starts, and skip what depends on it."""
        with self._changed:
            self._take_out(name, ExportOutcome(name=name, status=FAILED, error=plain(error)))
            self._news.append(("export_failed", name, self.outcomes[name].as_dict()))
            if self._fail_fast:
                self._dispatcher.drain(f"fail_fast: {name} failed")
        self._tell()

    def skip(self, name: str, because: str) -> None:
        """Record that an export is skipped because another one was not done."""
        with self._changed:
            self._take_out(name, ExportOutcome(name=name, status=SKIPPED, reason=f"skipped because of {because}"))
        self._tell()

    def waiting(self) -> tuple[Waiting, ...]:
        """Return what the exports that have not started wait for."""
        if not self._changed.acquire(timeout=LOOK_SECONDS):
            return ()
        try:
            return why_waiting(self._dispatcher, self._held)
        finally:
            self._changed.release()

    def _serve(self) -> None:
        try:
            self._work_on()
        except Exception as error:  # noqa: BLE001 - the others would wait for ever, and nobody would say why
            with self._changed:
                self._bug = self._bug or unexpected("the scheduler", error)
                self._dispatcher.drain(self._bug.message)
                self._changed.notify_all()

    def _work_on(self) -> None:
        while True:
            with self._changed:
                while (job := self.start_next()) is None:
                    if self.over:
                        self._changed.notify_all()
                        return
                    self._changed.wait()
            began = time.monotonic()
            outcome, error = self._work(job)
            with self._changed:
                self.end(job, outcome, error, time.monotonic() - began)
                self._changed.notify_all()
            self._tell()

    def end(self, job: Job, outcome: ExportOutcome | None, error: RivetError | None, seconds: float) -> None:
        """Record how a running job ended, and what follows for the others. Workers hold the lock around it.

        A share that fails takes those of its export along that have not started; what waits for the export is told of it when
        the last share has ended.
        """
        self._keep(job, outcome)
        causes = self._causes(job.export)
        skipped = list(self._dispatcher.finish(job.name, ok=error is None, actual_seconds=seconds))
        if error is None:
            self._breaker.succeeded(causes)
            return
        skipped += self._behind.pop(job.export, ())
        for sibling in self._jobs[job.export]:
            skipped += self._dispatcher.skip(sibling, f"{job.export} failed")
        if outcome is None:
            self._behind[job.export] = skipped
            return
        self._skip_all(skipped, job.export)
        if isinstance(error, StoppedError):
            return
        if error.code in STATE_CODES:
            self._close_off(STATE, error)
            return
        cause = self._breaker.failed(causes, error)
        if cause is not None:
            self._close_off(cause, error)
        if self._fail_fast:
            self._dispatcher.drain(f"fail_fast: {job.export} failed")

    def _keep(self, job: Job, outcome: ExportOutcome | None) -> None:
        if outcome is not None:
            self.outcomes[job.export] = outcome

    def _close_off(self, cause: Cause, error: RivetError) -> None:
        waiting = dict.fromkeys(job.export for job in self._dispatcher.waiting_jobs())
        left = [name for name in waiting if name not in self._started and cause in (STATE, *self._causes(name))]
        message = error.message if cause == STATE else f"{self._words(cause)}: {error.message}"
        for export in left:
            reason = f"not started: shared cause: {message}"
            outcome = ExportOutcome(name=export, status=NOT_STARTED, reason=reason, error=plain(error))
            self._take_out(export, outcome)
        if left:
            self.shared_causes.append(f"{message}: {several(len(left), 'export')} not started")
            self._news.append(("warning", "", {"message": self.shared_causes[-1]}))

    def _take_out(self, name: str, outcome: ExportOutcome) -> None:
        why = outcome.reason or outcome.status
        taken = [one for job in self._jobs.get(name, ()) for one in self._dispatcher.skip(job, why)]
        if taken:
            self.outcomes[name] = outcome
            self._skip_all(taken, name)

    def _skip_all(self, jobs: Sequence[str], because: str) -> None:
        """Record the exports of `jobs` as skipped, but for those that have an outcome, and `because` itself."""
        for name in dict.fromkeys(self._export_of[job] for job in jobs):
            if name != because and name not in self.outcomes:
                self._skipped(name, because)

    def _skipped(self, name: str, because: str) -> None:
        self.outcomes[name] = ExportOutcome(name=name, status=SKIPPED, reason=f"skipped because of {because}")
        self._news.append(("export_skipped", name, {"reason": self.outcomes[name].reason}))

    def _tell(self) -> None:
        """Hand on what happened, without the lock: a sink may block for as long as it likes."""
        while self._news:
            try:
                kind, name, data = self._news.popleft()
            except IndexError:  # another thread was faster
                return
            self._context.events.emit(kind, name, **data)

    def _causes(self, name: str) -> tuple[Cause, ...]:
        task = self._tasks[name]
        return ("source", task.source), ("destination", destination_key(task))

    def _words(self, cause: Cause) -> str:
        kind, name = cause
        if kind == "source":
            return f"source {name}"
        task = next((task for task in self._tasks.values() if destination_key(task) == name), None)
        return f"destination {task.spec.destination.type if task else name}"


def is_done(outcome: ExportOutcome | None) -> bool:
    """Whether what depends on this export may start."""
    return outcome is not None and outcome.status in (DONE, "already_done")
