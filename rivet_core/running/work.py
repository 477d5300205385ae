"""What a worker does with a job: the export's lease, its connections, the run; whatever happens becomes an outcome."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from rivet_core.errors import RivetError
from rivet_core.facts import Job
from rivet_core.running.budget import ConnectionBudget, Reservation
from rivet_core.running.connections import Connections
from rivet_core.running.extract import ExportRun, RunContext
from rivet_core.running.outcome import FAILED, ExportOutcome
from rivet_core.running.task import ExportTask
from rivet_core.running.unexpected import unexpected
from rivet_core.running.verdict import plain
from rivet_core.state import Lease, Refusal, busy

SLOT_WAIT_SECONDS = 0.2
"""Between two looks whether another process gave a group's slots back; half of what that process waits to let one by."""


class Work(Protocol):
    """Runs one job to its end and returns its outcome, with the error it failed with. It never raises."""

    def __call__(self, job: Job) -> tuple[ExportOutcome, RivetError | None]:
        """Run `job`."""


class ExportWork:
    """The work of a campaign: one run of an export per job."""

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

    def __call__(self, job: Job) -> tuple[ExportOutcome, RivetError | None]:
        """Run one export; a worker never dies of it."""
        try:
            reservation = self._reserve(job)
            try:
                return self._leased(job, reservation.lease)
            finally:
                self._give_back(job, reservation)
        except RivetError as error:
            found = error
        except BaseException as error:  # noqa: BLE001 - a worker that dies would leave the campaign waiting for ever
            found = unexpected(job.name, error)
        outcome = ExportOutcome(name=job.name, status=FAILED, error=plain(found))
        self._context.events.emit("export_failed", job.name, **outcome.as_dict())
        return outcome, found

    def _give_back(self, job: Job, reservation: Reservation) -> None:
        """Let lease and slots go; what fails here cannot change how the export ended, and a stale slot is taken over."""
        try:
            self._budget.give_back(reservation)
        except Exception as error:  # noqa: BLE001 - the outcome stands
            text = f"its lease could not be given back and goes stale: {type(error).__name__}"
            self._context.events.emit("warning", job.name, message=text)

    def _leased(self, job: Job, lease: Lease) -> tuple[ExportOutcome, RivetError | None]:
        task = self._tasks[job.name]
        task = replace(task, place=self._connections.place(task))
        if lease.taken_from:
            self._context.events.emit("warning", job.name, message=f"took over the stale lease of {lease.taken_from}")
        session, store = self._connections.session(task), self._connections.store(task)
        store.stopped = self._context.stop.event
        run = ExportRun(task, session, store, self._context, lease, job.connections)
        with self._context.acts.doing(job.name, "runs"):
            return run.run(), run.error

    def _reserve(self, job: Job) -> Reservation:
        """Take the export's lease with its connections, which all processes that share this state database count together."""
        name, source = f"export:{job.name}", self._tasks[job.name].source
        until = time.monotonic() + self._lock_wait
        if self._budget.wanted(job.group):
            self._context.stop.event.wait(2 * SLOT_WAIT_SECONDS)
        waits: Lease | Refusal | None = None
        try:
            with self._context.acts.doing(job.name, "takes its lease") as act:
                while True:
                    found = self._budget.reserve(name, job.group, source, job.connections, heavy=job.heavy)
                    if isinstance(found, Reservation):
                        return found
                    self._refused(found, name, until)
                    act.now(said := f"waits for {found.name}, held by {found.holder}")
                    if found.slots and waits is None:
                        waits = self._budget.want(job.group)
                        self._context.events.emit("warning", job.name, message=said)
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
