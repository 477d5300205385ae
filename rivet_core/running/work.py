"""What a worker does with a job: the export's lease, its connections, the run; whatever happens becomes an outcome."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from rivet_core.errors import RivetError
from rivet_core.facts import Job, connections_of
from rivet_core.running.budget import ConnectionBudget, Reservation
from rivet_core.running.connections import Connections
from rivet_core.running.context import RunContext
from rivet_core.running.extract import ExportRun
from rivet_core.running.outcome import FAILED, ExportOutcome
from rivet_core.running.shared import SharedRun
from rivet_core.running.task import ExportTask
from rivet_core.running.unexpected import unexpected
from rivet_core.running.verdict import plain
from rivet_core.state import Lease, Refusal, busy

SLOT_WAIT_SECONDS = 0.2
"""Between two looks whether another process gave a group's slots back; half of what that process waits to let one by."""


class Work(Protocol):
    """Runs one job to its end and returns the outcome of its export, with the error it failed with. It never raises.

    Of a split export one share returns the outcome, the others `None`. One that is called after a stop ends its export.
    """

    def __call__(self, job: Job) -> tuple[ExportOutcome | None, RivetError | None]:
        """Run `job`."""


class ExportWork:
    """The work of a campaign: one run of an export per job, or per all the shares of one."""

    def __init__(
        self,
        tasks: Mapping[str, ExportTask],
        connections: Connections,
        budget: ConnectionBudget,
        context: RunContext,
        *,
        lock_wait: float,
    ) -> None:
        self._tasks = tasks
        self._connections = connections
        self._budget = budget
        self._context = context
        self._lock_wait = lock_wait
        self._shared: dict[str, SharedRun] = {}
        self._sharing = threading.Lock()

    def __call__(self, job: Job) -> tuple[ExportOutcome | None, RivetError | None]:
        """Run one export, or a share of one; a worker never dies of it."""
        try:
            if job.share_of:
                return self._shared_run(job).take(job, lambda: self._reserved(job, f"share:{job.name}", job.connections))
            with self._reserved(job, f"export:{job.name}", job.connections, heavy=job.heavy) as reservation:
                run = self._run(job, reservation.lease, job.connections)
                with self._context.acts.doing(job.name, "runs"):
                    return run.run(), run.error
        except RivetError as error:
            found = error
        except BaseException as error:  # noqa: BLE001 - a worker that dies would leave the campaign waiting for ever
            found = unexpected(job.export, error)
        outcome = ExportOutcome(name=job.export, status=FAILED, error=plain(found))
        self._context.events.emit("export_failed", job.export, **outcome.as_dict())
        return outcome, found

    def _shared_run(self, job: Job) -> SharedRun:
        """Return the run that the share belongs to. It has the export's lease and heavy slot; each share a connection."""
        with self._sharing:
            known = self._shared.get(job.share_of)
            if known is not None:
                return known
            held = contextlib.ExitStack()

            def begin() -> ExportRun:
                reservation = held.enter_context(self._reserved(job, f"export:{job.share_of}", 0, heavy=job.heavy))
                try:
                    return self._run(job, reservation.lease, job.shares)
                except BaseException:
                    held.close()
                    raise

            task = self._tasks[job.share_of]
            alone = connections_of(task.spec.parallel, len(task.units), task.spec.snapshot)
            made = self._shared[job.share_of] = SharedRun(begin, held.close, connections=alone)
            return made

    @contextlib.contextmanager
    def _reserved(self, job: Job, name: str, connections: int, *, heavy: bool = False) -> Iterator[Reservation]:
        reservation = self._reserve(job, name, connections, heavy=heavy)
        try:
            yield reservation
        finally:
            self._give_back(job, reservation)

    def _give_back(self, job: Job, reservation: Reservation) -> None:
        """Let lease and slots go; what fails here cannot change how the export ended, and a stale slot is taken over."""
        try:
            self._budget.give_back(reservation)
        except Exception as error:  # noqa: BLE001 - the outcome stands
            text = f"its lease could not be given back and goes stale: {type(error).__name__}"
            self._context.events.emit("warning", job.export, message=text)

    def _run(self, job: Job, lease: Lease, connections: int) -> ExportRun:
        task = self._tasks[job.export]
        task = replace(task, place=self._connections.place(task))
        if job.share_of:
            task = replace(task, spec=replace(task.spec, parallel=connections))
        if lease.taken_from:
            self._context.events.emit("warning", job.export, message=f"took over the stale lease of {lease.taken_from}")
        session, store = self._connections.session(task), self._connections.store(task)
        store.stopped = self._context.stop.event
        return ExportRun(task, session, store, self._context, lease, connections)

    def _reserve(self, job: Job, name: str, connections: int, *, heavy: bool) -> Reservation:
        """Take lease `name` with connections, which all processes that share this state database count together."""
        source = self._tasks[job.export].source
        until = time.monotonic() + self._lock_wait
        if self._budget.wanted(job.group):
            self._context.stop.event.wait(2 * SLOT_WAIT_SECONDS)
        waits: Lease | Refusal | None = None
        try:
            with self._context.acts.doing(job.name, "takes its lease") as act:
                while True:
                    found = self._budget.reserve(name, job.group, source, connections, heavy=heavy)
                    if isinstance(found, Reservation):
                        return found
                    self._refused(found, name, until)
                    act.now(said := f"waits for {found.name}, held by {found.holder}")
                    if found.slots and waits is None:
                        waits = self._budget.want(job.group)
                        self._context.events.emit("warning", job.export, message=said)
                    left = max(0.0, until - time.monotonic())
                    self._context.stop.event.wait(SLOT_WAIT_SECONDS if found.slots else min(SLOT_WAIT_SECONDS, left))
        finally:
            if isinstance(waits, Lease):
                self._context.state.leases.release(waits)

    def _refused(self, found: Refusal, name: str, until: float) -> None:
        """Slots come free by themselves; an export that another run holds is waited for only as long as asked."""
        self._context.stop.check()
        if not found.slots and time.monotonic() >= until:
            raise busy(name, found.holder, hint="wait for it, or give --lock-wait SECONDS")
