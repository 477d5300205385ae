"""How a run ended: its outcome, what the history keeps of it, and its grade (I4: kept with the verdict)."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime

from rivet_core.errors import IntegrityError, RivetError
from rivet_core.facts import Json, Mark
from rivet_core.running.events import Events
from rivet_core.running.manifest import Current, Manifest
from rivet_core.running.outcome import ALREADY_DONE, DONE, FAILED, ExportOutcome
from rivet_core.running.ownership import LeaseLostError
from rivet_core.running.retry import Retrier
from rivet_core.running.stop import StoppedError
from rivet_core.running.task import ExportTask
from rivet_core.state import Metric, StateStore


class Verdict:
    """Collects what the outcome of one run needs, from its first second on."""

    def __init__(self, task: ExportTask, state: StateStore, events: Events, retrier: Retrier) -> None:
        self._task = task
        self._state = state
        self._events = events
        self._retrier = retrier
        self._began = time.monotonic()
        self.run_id = ""
        self.resumed = 0
        self.warnings: list[str] = []
        self.error: RivetError | None = None
        self._read_to: tuple[Mark, ...] = ()
        self._alone_seconds = 0.0
        self._predicted_factor = 1.0

    @property
    def seconds(self) -> float:
        """Wall time of the run so far."""
        return time.monotonic() - self._began

    @property
    def work_seconds(self) -> float:
        """What the history keeps: the wall time, or what the run would have taken without being split."""
        return self._alone_seconds or self.seconds

    @property
    def whole_seconds(self) -> float | None:
        """What later runs are predicted by; `None` after a resume: that it read what was left says nothing of the whole."""
        return None if self.resumed else self.work_seconds

    def shared(self, alone_seconds: float, shares: int, connections: int) -> None:
        """Note that `shares` read the units, which by itself the export does over so many `connections`, in `alone_seconds`."""
        self._alone_seconds, self._predicted_factor = alone_seconds, connections / shares

    def read(self, manifest: Manifest) -> Manifest:
        """Keep how far was read, whether it will be committed or not."""
        self._read_to = manifest.cursor_after or ()
        return manifest

    def done(self, manifest: Manifest | None) -> ExportOutcome:
        """The state knows the commit, and the grade with it. Without a manifest nothing was new."""
        outcome = self._outcome(DONE)
        if manifest is not None:
            outcome = replace(
                outcome, rows=manifest.rows, bytes=manifest.bytes, parts=len(manifest.parts), delivery=manifest.delivery
            )
        return self._told("export_finished", outcome)

    def already(self, current: Current) -> ExportOutcome:
        """This plan had committed the export before."""
        reason = "this plan had committed it"
        return self._told("export_finished", replace(self._outcome(ALREADY_DONE), run_id=current.run_id, reason=reason))

    def failed(self, error: RivetError) -> ExportOutcome:
        """Nothing was committed; the units that are published stay for a resume."""
        self.error = error
        outcome = replace(self._outcome(FAILED), error=plain(error))
        if self.run_id and not isinstance(error, LeaseLostError):  # what the state says of it is another's by now
            killed = isinstance(error, StoppedError)
            self._state.runs.fail(
                self.run_id,
                status="killed" if killed else "failed",
                seconds=self.work_seconds,
                retries=outcome.retries,
                error_class=error_class(error),
                error=dict(outcome.error or {}),
                observed={self._task.name: self._read_to} if self._read_to else {},
            )
            if not killed:
                self._state.runs.grade(self.metric("failed"))
        return self._told("export_failed", outcome)

    def _told(self, kind: str, outcome: ExportOutcome) -> ExportOutcome:
        self._events.emit(kind, self._task.name, **outcome.as_dict())
        return outcome

    def _outcome(self, status: str) -> ExportOutcome:
        predicted = self._task.predicted_seconds
        return ExportOutcome(
            name=self._task.name,
            status=status,
            run_id=self.run_id,
            seconds=self.seconds,
            retries=self._retrier.retries,
            resumed_units=self.resumed,
            warnings=tuple(self.warnings),
            predicted_seconds=None if predicted is None else predicted * self._predicted_factor,
        )

    def metric(self, status: str, rows: int = 0, size: int = 0) -> Metric:
        """Return what the history keeps of the run beside its prediction, as it stands now. A resume had none of its own."""
        task = self._task
        predicted = (None, None, None) if self.resumed else (task.p10, task.predicted_seconds, task.p90)
        return Metric(
            run_id=self.run_id,
            export=task.name,
            at=datetime.now(UTC),
            status=status,
            seconds=self.work_seconds,
            rows=rows,
            bytes=size,
            predicted_p10=predicted[0],
            predicted_p50=predicted[1],
            predicted_p90=predicted[2],
            basis=task.basis,
        )


def plain(error: RivetError) -> dict[str, Json]:
    """Return an error as an outcome keeps it: what `--json` prints, and its coarse class."""
    found: dict[str, Json] = {}
    for key, value in error.as_dict().items():
        found[key] = value if isinstance(value, int) else str(value)
    found["error_class"] = error_class(error)
    return found


def error_class(error: RivetError) -> str:
    """Return the coarse class that history and the breaker compare."""
    found = getattr(error, "error_class", None)
    if isinstance(found, str):
        return found
    return "integrity" if isinstance(error, IntegrityError) else error.code
