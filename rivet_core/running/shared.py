"""A split export while it runs: one run, one dataset, and several jobs that read a share of its units each.

The first job begins the run, the last one that ends commits it. When one fails, those beside it are broken off, and the last of
them ends the run; what they had published stays for a resume.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from rivet_core.errors import RivetError
from rivet_core.facts import Job, Unit
from rivet_core.running.extract import ExportRun
from rivet_core.running.outcome import ExportOutcome
from rivet_core.running.unexpected import unexpected
from rivet_core.scheduling.shares import share_number, share_out


class SharedRun:
    """The run of one split export. `begin` takes its lease and makes the run, `end` gives the lease back, once.

    `connections` is how many the export takes when it is not split.
    """

    def __init__(self, begin: Callable[[], ExportRun], end: Callable[[], None], *, connections: int) -> None:
        self._begin = begin
        self._end = end
        self._connections = connections
        self._lock = threading.Lock()
        self._run: ExportRun | None = None
        self._over = False
        self._error: RivetError | None = None
        self._reading = 0
        self._ended = 0
        self._seconds = 0.0

    def take(
        self, job: Job, connection: Callable[[], AbstractContextManager[object]]
    ) -> tuple[ExportOutcome | None, RivetError | None]:
        """Read the share of `job` over `connection`. The outcome comes with the job that ends the run, `None` before and after
        it; the error is what stands in the way of the share. Raises what `begin` fails with.
        """
        run, outcome = self._enter(job)
        if run is None:
            return outcome, self._error
        began = time.monotonic()
        failure: RivetError | None = None
        with contextlib.ExitStack() as held:  # the commit may have to ask the source once more
            try:
                held.enter_context(connection())
                began = time.monotonic()
                units = units_of_share(run, job)
                run.tell("share_started", share=job.name, shares=job.shares, units=len(units))
                run.read(units, 1)
                run.tell("share_finished", share=job.name, seconds=round(time.monotonic() - began, 3))
            except RivetError as error:
                failure = error
            except BaseException as error:  # noqa: BLE001 - the others must not wait for a share that died
                failure = unexpected(job.export, error)
            return self._leave(run, job, failure, time.monotonic() - began), self._error

    def _enter(self, job: Job) -> tuple[ExportRun | None, ExportOutcome | None]:
        """Return the run if there is something to read, and its outcome if that showed just now."""
        with self._lock:
            if self._over or self._error is not None:
                return None, None
            if self._run is None:
                try:
                    run = self._begin()
                    outcome = self._ending(run, run.begin)
                except BaseException as error:
                    self._over = True
                    # The other shares have not succeeded: they say why, and the first one is its outcome.
                    self._error = error if isinstance(error, RivetError) else unexpected(job.export, error)
                    raise
                if outcome is not None:
                    return None, outcome
                self._run = run
            self._reading += 1
            return self._run, None

    def _leave(self, run: ExportRun, job: Job, failure: RivetError | None, seconds: float) -> ExportOutcome | None:
        with self._lock:
            self._reading -= 1
            self._ended += 1
            self._seconds += seconds
            if failure is not None:
                run.halt()
                # What the others say about being broken off is the consequence.
                if self._error is None or self._error.code == "halted":
                    self._error = failure
            error = self._error
            if self._reading or (error is None and self._ended < job.shares):
                return None
            run.verdict.shared(self._seconds / self._connections, job.shares, self._connections)
            return self._ending(run, run.finish if error is None else lambda: run.failed(error))

    def _ending(self, run: ExportRun, step: Callable[[], ExportOutcome | None]) -> ExportOutcome | None:
        """Take a step that may end the run; then the run is over, whatever happens."""
        outcome = None
        try:
            try:
                outcome = step()
            except Exception as error:  # noqa: BLE001 - as in a run of its own
                outcome = run.failed(error)
        except BaseException:
            self._over = True
            self._end()
            raise
        if outcome is not None:
            self._error = run.error
            self._over = True
            self._end()
        return outcome


def units_of_share(run: ExportRun, job: Job) -> tuple[Unit, ...]:
    """Return the units that `job` reads, empty when the run that is taken up has fewer units than shares were planned."""
    shares, number = share_out(run.units, job.shares), share_number(job)
    return shares[number - 1] if number <= len(shares) else ()
