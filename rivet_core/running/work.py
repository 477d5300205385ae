"""What a worker does with a job: the export's lease, its connections, the run; whatever happens becomes an outcome."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from rivet_core.errors import InternalError, RivetError
from rivet_core.facts import Capacities, Job
from rivet_core.running.connections import Connections
from rivet_core.running.extract import ExportRun, RunContext
from rivet_core.running.outcome import FAILED, ExportOutcome
from rivet_core.running.task import ExportTask
from rivet_core.running.verdict import plain
from rivet_core.state import Lease, Refusal, Slots, busy

SLOT_WAIT_SECONDS = 0.5
"""Between two looks whether another process gave a group's slots back."""


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
        context: RunContext,
        capacities: Capacities,
        *,
        lock_wait: float,
        shared_state: bool = True,
    ) -> None:
        self._tasks = tasks
        self._connections = connections
        self._context = context
        self._capacities = capacities
        self._lock_wait = lock_wait
        self._shared_state = shared_state

    def __call__(self, job: Job) -> tuple[ExportOutcome, RivetError | None]:
        """Run one export; a worker never dies of it."""
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
