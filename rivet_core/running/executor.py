"""The executor: worker threads over one dispatcher, waiting on a condition variable, never polling for work."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from rivet_core.errors import InternalError, RivetError
from rivet_core.facts import Capacities, Job
from rivet_core.running.breaker import Breaker
from rivet_core.running.connections import Cause, Connections, destination_key
from rivet_core.running.extract import ExportRun, RunContext
from rivet_core.running.outcome import DONE, FAILED, NOT_STARTED, SKIPPED, ExportOutcome
from rivet_core.running.stop import StoppedError
from rivet_core.running.task import ExportTask
from rivet_core.running.verdict import plain
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.state import Lease, Refusal, Slots, busy

SLOT_WAIT_SECONDS = 0.5
"""Between two looks whether another process gave a group's slots back."""


class Executor:
    """Runs the jobs of one dispatcher to their end."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        tasks: Mapping[str, ExportTask],
        connections: Connections,
        context: RunContext,
        capacities: Capacities,
        *,
        fail_fast: bool,
        lock_wait: float,
        shared_state: bool = True,
    ) -> None:
        self._dispatcher = dispatcher
        self._tasks = tasks
        self._connections = connections
        self._context = context
        self._capacities = capacities
        self._fail_fast = fail_fast
        self._lock_wait = lock_wait
        self._shared_state = shared_state
        self._changed = threading.Condition()
        self._breaker = Breaker()
        self.outcomes: dict[str, ExportOutcome] = {}
        self.order: list[str] = []
        self.shared_causes: list[str] = []

    def run(self) -> None:
        """Start the workers and wait for them; every job has an outcome afterwards."""
        count = min(self._capacities.workers, max(1, self._dispatcher.waiting))
        workers = [threading.Thread(target=self._work, name=f"rivet-worker-{number}", daemon=True) for number in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        why = self._context.stop.why or self._dispatcher.drained or "interrupted"
        for job in self._dispatcher.waiting_jobs():
            self.outcomes[job.name] = ExportOutcome(name=job.name, status=NOT_STARTED, reason=f"not started: {why}")

    def wake(self) -> None:
        """Let waiting workers look again, after a stop was requested."""
        with self._changed:
            self._dispatcher.drain(self._context.stop.why or "interrupted")
            self._changed.notify_all()

    def block(self, causes: Mapping[Cause, RivetError]) -> None:
        """Take out what depends on a source or destination that could not be opened: the shared cause at once (M01)."""
        with self._changed:
            for cause, error in causes.items():
                self._close_off(cause, error)

    def refuse(self, name: str, error: RivetError) -> None:
        """Record that an export fails before it starts, and skip what depends on it."""
        with self._changed:
            self._take_out(name, ExportOutcome(name=name, status=FAILED, error=plain(error)))
            self._context.events.emit("export_failed", name, **self.outcomes[name].as_dict())

    def skip(self, name: str, because: str) -> None:
        """Record that an export is skipped because another one was not done."""
        with self._changed:
            self._take_out(name, ExportOutcome(name=name, status=SKIPPED, reason=f"skipped because of {because}"))

    def _work(self) -> None:
        while True:
            with self._changed:
                while True:
                    job = None if self._context.stop.event.is_set() else self._dispatcher.claim()
                    if job is not None:
                        break
                    if self._dispatcher.finished or (self._context.stop.event.is_set() and not self._dispatcher.running):
                        self._changed.notify_all()
                        return
                    if self._context.stop.event.is_set():
                        return
                    self._changed.wait()
                self.order.append(job.name)
            began = time.monotonic()
            outcome, error = self._export(job)
            with self._changed:
                self._ended(job, outcome, error, time.monotonic() - began)
                self._changed.notify_all()

    def _export(self, job: Job) -> tuple[ExportOutcome, RivetError | None]:
        """Run one export; whatever happens becomes its outcome, a worker never dies of it."""
        try:
            lease = self._lease(job)
            try:
                return self._leased(job, lease)
            finally:
                self._context.state.leases.release(lease)
        except RivetError as error:
            found = error
        except Exception as error:  # noqa: BLE001 - a worker that dies would leave the campaign waiting for ever
            found = InternalError(f"{job.name}: {type(error).__name__}: {error}", hint="this is a bug: please report it")
            found.__cause__ = error
        outcome = ExportOutcome(name=job.name, status=FAILED, error=plain(found))
        self._context.events.emit("export_failed", job.name, **outcome.as_dict())
        return outcome, found

    def _leased(self, job: Job, lease: Lease) -> tuple[ExportOutcome, RivetError | None]:
        task = self._tasks[job.name]
        if lease.taken_from:
            self._context.events.emit("warning", job.name, message=f"took over the stale lease of {lease.taken_from}")
        session, store = self._connections.session(task), self._connections.store(task)
        run = ExportRun(task, session, store, self._context, lease, job.connections)
        return run.run(), run.error

    def _lease(self, job: Job) -> Lease:
        """Take the export's lease, and with it the group's slots that processes sharing this state database count together."""
        group = self._capacities.groups[job.group]
        slots: Sequence[Slots] = ()
        if self._shared_state:
            taken = min(job.connections, group.max_connections)
            slots = (
                Slots(resource=f"connections:{job.group}", capacity=group.max_connections, count=taken),
                Slots(resource=f"heavy:{job.group}", capacity=group.max_heavy, count=int(job.heavy)),
            )
        name = f"export:{job.name}"
        until = time.monotonic() + self._lock_wait
        told = False
        while True:
            found = self._context.state.leases.attempt(name, slots)
            if isinstance(found, Lease):
                return found
            self._refused(found, name, until)
            if found.slots and not told:
                told = True
                self._context.events.emit("warning", job.name, message=f"waits for {found.name}, held by {found.holder}")
            self._context.stop.event.wait(SLOT_WAIT_SECONDS if found.slots else min(0.2, max(0.0, until - time.monotonic())))

    def _refused(self, found: Refusal, name: str, until: float) -> None:
        """Slots come free by themselves; an export that another run holds is waited for only as long as asked."""
        self._context.stop.check()
        if not found.slots and time.monotonic() >= until:
            raise busy(name, found.holder)

    def _ended(self, job: Job, outcome: ExportOutcome, error: RivetError | None, seconds: float) -> None:
        ok = error is None
        self.outcomes[job.name] = outcome
        causes = self._causes(job.name)
        skipped = self._dispatcher.finish(job.name, ok=ok, actual_seconds=seconds)
        for name in skipped:
            self._skipped(name, job.name)
        if ok:
            self._breaker.succeeded(causes)
            return
        assert error is not None  # noqa: S101 - not ok
        if isinstance(error, StoppedError):
            return
        cause = self._breaker.failed(causes, error)
        if cause is not None:
            self._close_off(cause, error)
        if self._fail_fast:
            self._dispatcher.drain(f"fail_fast: {job.name} failed")

    def _close_off(self, cause: Cause, error: RivetError) -> None:
        left = [job.name for job in self._dispatcher.waiting_jobs() if cause in self._causes(job.name)]
        kind = "source" if cause[0] == "source" else "destination"
        name = cause[1] if cause[0] == "source" else self._where(cause)
        message = f"{kind} {name}: {error.message}"
        for export in left:
            reason = f"not started: shared cause: {message}"
            outcome = ExportOutcome(name=export, status=NOT_STARTED, reason=reason, error=plain(error))
            self._take_out(export, outcome)
        if left or cause[0] in ("source", "destination"):
            self.shared_causes.append(f"{message}: {len(left)} export{'' if len(left) == 1 else 's'} not started")
            self._context.events.emit("warning", message=self.shared_causes[-1])

    def _take_out(self, name: str, outcome: ExportOutcome) -> None:
        taken = self._dispatcher.skip(name, outcome.reason or outcome.status)
        if not taken:
            return
        self.outcomes[name] = outcome
        for other in taken[1:]:
            if other not in self.outcomes:
                self._skipped(other, name)

    def _skipped(self, name: str, because: str) -> None:
        self.outcomes[name] = ExportOutcome(name=name, status=SKIPPED, reason=f"skipped because of {because}")
        self._context.events.emit("export_skipped", name, reason=self.outcomes[name].reason)

    def _causes(self, name: str) -> tuple[Cause, ...]:
        task = self._tasks[name]
        return ("source", task.source), ("destination", destination_key(task))

    def _where(self, cause: Cause) -> str:
        task = next((task for task in self._tasks.values() if destination_key(task) == cause[1]), None)
        return task.spec.destination.type if task else cause[1]


def is_done(outcome: ExportOutcome | None) -> bool:
    """Whether what depends on this export may start."""
    return outcome is not None and outcome.status in (DONE, "already_done")
