"""One export end to end: lease, units, files, commit, cursor, verdict. The order of effects is the point of it.

I1 a file is finished before it is published · I2 published before a manifest names it · I3 the commit before the cursor ·
I4 the metric with the verdict · I5 units only move forward · I6 a run ends only when all its units are done · I7 replacing
`current.json` is the commit.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from rivet_core.api import ConsistentSession, SourceSession
from rivet_core.errors import PlanRefused, RivetError
from rivet_core.facts import Mark, Mode, Unit
from rivet_core.running import faults
from rivet_core.running.context import RunContext
from rivet_core.running.continuity import check_continuity
from rivet_core.running.describe import RunFacts, describe
from rivet_core.running.foreign import foreign
from rivet_core.running.gates import observed
from rivet_core.running.manifest import Current, Manifest
from rivet_core.running.outcome import ExportOutcome
from rivet_core.running.ownership import Ownership
from rivet_core.running.pressure import SourceGate
from rivet_core.running.publish import Dataset
from rivet_core.running.quality import check_quality
from rivet_core.running.reading import UnitReader
from rivet_core.running.resume import check_published, check_stream, roll_forward, take_up
from rivet_core.running.retry import Retrier
from rivet_core.running.task import ExportTask
from rivet_core.running.unexpected import unexpected
from rivet_core.running.unitpool import each_unit, wide
from rivet_core.running.verdict import Verdict
from rivet_core.state import Lease, RunStart, UnitRecord
from rivet_core.stores import ReaderGoneError, Store, Versioned

WORTH_REMEMBERING = 8 << 20
"""Bytes from which the only unit of a run is recorded before the commit; below it, reading again costs less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """What a run found when it began, and what it reads with."""

    current: Current | None
    tag: Versioned | None
    cursor: tuple[Mark, ...]
    append: bool
    reader: UnitReader


class ExportRun:
    """One run of one export, whose lease is held. `connections` is how many units may be read at once."""

    def __init__(
        self, task: ExportTask, session: SourceSession, store: Store, context: RunContext, lease: Lease, connections: int
    ) -> None:
        self.task = task
        self._session = session
        self._dataset = Dataset(store, task.layout)
        self._context = context
        self._mine = Ownership(task.name, context.state.leases, lease)
        self._wide = wide(task.spec, connections)
        self._started_at = datetime.now(UTC)
        self.units = task.units
        self._done: dict[int, UnitRecord] = {}
        self._retried = False
        self._recorded = False
        self._retrier = Retrier(task.spec.tuning, context.budget, stopped=context.stop.event, told=self._retrying)
        self.verdict = Verdict(task, context.state, context.events, self._retrier)

    @property
    def error(self) -> RivetError | None:
        """What it failed with, `None` before and without a failure."""
        return self.verdict.error

    def run(self) -> ExportOutcome:
        """Run it. Errors become the outcome; nothing of a failed run is visible to readers."""
        try:
            return self.begin() or self._read_and_finish()
        except Exception as error:  # noqa: BLE001 - a bug in a plugin or here must not take the other exports along
            return self.failed(error)

    def failed(self, error: Exception) -> ExportOutcome:
        """End the run with what it failed by."""
        if isinstance(error, ReaderGoneError):
            self._context.stop.request(error.message, error.exit_code)
            return self.verdict.failed(self._context.stop.error())
        if isinstance(error, RivetError):
            return self.verdict.failed(error)
        return self.verdict.failed(unexpected(self.task.name, error))

    def begin(self) -> ExportOutcome | None:
        """Bring the state up to the dataset, take an earlier run up or begin a new one; an outcome where nothing is to do."""
        task, state = self.task, self._context.state
        current, tag = self._dataset.read()
        if roll_forward(task, self._dataset, current, state):
            self._warn("the last run had committed before it was killed; the state was brought up to it")
        if current is not None and current.plan_id == task.plan_id and state.runs.status(current.run_id) == "succeeded":
            return self.verdict.already(current)
        cursor = self._cursor(current)
        if not self._dataset.store.target.capabilities.stream:
            check_continuity(task, current, cursor, self._dataset.store.url(task.layout.current))
        check_stream(task, self._dataset.store, self.units)
        self._start(cursor)
        before = self._dataset.manifest(current.members[-1]).schema if current and current.members else ()
        append, pressure = self._appends(cursor), self._context.pressure
        reader = UnitReader(
            self._tolerant(current),
            self._session,
            self._dataset.store,
            name=lambda unit, partition, part: task.layout.part(self.verdict.run_id, self._started_at, unit, part, partition),
            before=before,
            shares=append and current is not None,
            stop=self._context.stop,
            told=lambda rows, size: self.tell("progress", rows=rows, bytes=size),
            gate=SourceGate(pressure, task.source, task.group, task.name, self._context.acts) if pressure else None,
            publishing=self._mine.check,
        )
        self._begun = _Begun(current=current, tag=tag, cursor=cursor, append=append, reader=reader)
        return None

    def read(self, units: Sequence[Unit], at_once: int) -> None:
        """Read those of `units` that are not there yet. Several threads may, each its own."""
        reader = self._begun.reader
        left = [unit for unit in units if unit.index not in self._done]
        threads = min(at_once, len(left))
        each_unit(left, lambda unit: self._one(reader, unit), threads=threads, halt=reader.halt, name=self.task.name)

    def halt(self) -> None:
        """Break off what other threads read."""
        self._begun.reader.halt()

    def finish(self) -> ExportOutcome:
        """Commit what was read: all units are there."""
        task, begun = self.task, self._begun
        current, append, reader = begun.current, begun.append, begun.reader
        records = [self._done[unit.index] for unit in self.units]
        if append and task.spec.mode is Mode.INCREMENTAL and self._dataset.adds_nothing(current, self.units, records):
            self._mine.check()
            self._dataset.store.delete(part.key for record in records for part in record.parts)
            return self._finish(None, reader)
        if not any(record.parts for record in records) and not task.spec.skip_empty:
            blank = reader.empty(self.units[0])
            records[0] = replace(records[0], parts=blank.parts, bytes=blank.bytes, schema=blank.schema)
        self._check_quality(records, reader)
        self._mine.check()
        self._sweep(records, reader)
        home = task.layout.run(self.verdict.run_id, self._started_at)
        check_published(self._dataset.store, home, records, self.verdict.seconds)
        self._context.stop.check()
        run = RunFacts(
            task=task,
            run_id=self.verdict.run_id,
            started_at=self._started_at,
            units=self.units,
            cursor=begun.cursor,
            drift=tuple(reader.drift),
        )
        manifest = self.verdict.read(describe(run, records))
        self._dataset.commit(manifest, self._started_at, current, begun.tag, append=append, resumed=self._retried)  # I2, I7
        return self._finish(manifest, reader)

    def _read_and_finish(self) -> ExportOutcome:
        try:
            self.read(self.units, self._wide)
        finally:
            if isinstance(self._session, ConsistentSession):
                with foreign(self.task):
                    self._session.end(self.task.name)
        return self.finish()

    def _tolerant(self, current: Current | None) -> ExportTask:
        """Return the task, going on over changed columns when somebody accepted them after the dataset's newest run."""
        task = replace(self.task, spec=replace(self.task.spec, parallel=self._wide))
        if current is None or not self._context.state.schema_accepted(task.name, current.run_id):
            return task
        return replace(task, spec=replace(task.spec, on_schema_drift="continue"))

    def _cursor(self, current: Current | None) -> tuple[Mark, ...]:
        """Return the cursor that the run starts from, which must be the one the plan saw (PA4)."""
        task = self.task
        if task.spec.mode is not Mode.INCREMENTAL:
            return ()
        cursor = self._context.state.cursor(task.name)
        if cursor == task.cursor_snapshot:
            return cursor
        if current is not None and current.cursor_after == cursor and current.cursor_before == task.cursor_snapshot and cursor:
            # The plan was made from a state that had missed the last commit. Only the source knows how to go on from there:
            # ties at the cursor, a lookback and rows without a cursor are its business.
            self.units = self._session.units(task.reading, cursor)
            return cursor
        if self._context.force:
            self._warn("the cursor moved after the plan was made; --force went on with the plan's")
            return task.cursor_snapshot
        raise PlanRefused(
            f"{task.name}: its cursor moved after the plan was made",
            hint="plan again, or give --force to read what the plan says",
            code="cursor_moved",
        )

    def _start(self, cursor: tuple[Mark, ...]) -> None:
        task, state = self.task, self._context.state
        found = take_up(task, state, self._dataset.store, cursor) if self._context.resume else None
        if found is not None:
            self.verdict.run_id, self._started_at, self.units = found.run_id, found.started_at, found.units
            self._done = dict(found.done)
            self.verdict.resumed = len(found.done)
            self._retried = True
            state.runs.reopen(found.broken)
        else:
            self.verdict.run_id = f"{self._started_at:%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex[:8]}"
            state.runs.begin(
                RunStart(
                    run_id=self.verdict.run_id,
                    export=task.name,
                    plan_id=task.plan_id,
                    fingerprint=task.resume_key,
                    source_fingerprint=task.history_fingerprint,
                    mode=str(task.spec.mode),
                    units=self.units,
                    started_at=self._started_at,
                    cursor_before=cursor,
                    predicted_seconds=task.predicted_seconds,
                    table_bytes=task.table_bytes,
                )
            )
        self.tell("export_started", run_id=self.verdict.run_id, units=len(self.units), resumed_units=self.verdict.resumed)

    def _appends(self, cursor: tuple[Mark, ...]) -> bool:
        """Whether the run adds to the dataset: a run past a cursor, or a window. Everything else replaces it as a whole."""
        return self.task.spec.mode is Mode.TIME_WINDOW or (self.task.spec.mode is Mode.INCREMENTAL and bool(cursor))

    def _one(self, reader: UnitReader, unit: Unit) -> None:
        with self._context.acts.doing(self.task.name, f"reads unit {unit.index}"):
            record = self._retrier.run(lambda: reader.read(unit))
        if len(self.units) > 1 or record.bytes >= WORTH_REMEMBERING or self.verdict.resumed:
            self._context.state.runs.unit_done(self.verdict.run_id, record, again=self._retried)  # I5
            self._recorded = True
        faults.point("unit_done")
        self._done[unit.index] = record
        self.tell("unit_done", unit=unit.index, units=len(self.units), rows=record.rows, bytes=record.bytes)

    def _check_quality(self, records: Sequence[UnitRecord], reader: UnitReader) -> None:
        if not self.task.spec.quality:
            return
        parts = [part for record in records for part in record.parts]
        unique = reader.unique
        if unique and unique.columns and self.verdict.resumed:
            self._warn("uniqueness was checked only for the units read by this process")
        for warning in check_quality(self.task.spec, sum(record.rows for record in records), parts, unique):
            self._warn(warning)

    def _sweep(self, records: Sequence[UnitRecord], reader: UnitReader) -> None:
        """Remove files of this run that no unit counts: left by a try that failed, or by the process that was killed."""
        listed = {part.key for record in records for part in record.parts}
        stray = reader.written - listed
        if self.verdict.resumed or self._context.resume:
            home = self.task.layout.run(self.verdict.run_id, self._started_at)
            stray |= {entry.key for entry in self._dataset.store.files(home)} - listed
        if stray:
            self._dataset.store.delete(sorted(stray))

    def _finish(self, manifest: Manifest | None, reader: UnitReader) -> ExportOutcome:
        """Tell the state, cursor included (I3). Without a manifest nothing was new: no cursor moves."""
        for text in (*(f"schema drift: {change}" for change in reader.drift), *reader.notes):
            self._warn(text)
        rows, size = (manifest.rows, manifest.bytes) if manifest else (0, 0)
        faults.point("before_cursor")
        graded = self._context.state.runs.commit(
            self.verdict.run_id,
            self.task.name,
            rows=rows,
            size=size,
            seconds=self.verdict.whole_seconds,
            retries=self._retrier.retries,
            columns=[{"name": name, "type": kind} for name, kind in observed(self.task)],
            cursor=(manifest.cursor_after or None) if manifest else None,
            keep_cursor=self.task.spec.mode is Mode.INCREMENTAL,
            forget_units=self._recorded or self._retried,
            metric=self.verdict.metric("succeeded", rows, size),
        )
        faults.point("after_cursor")
        if not graded:
            self._warn("the run is committed, but its grade could not be kept")
        return self.verdict.done(manifest)

    def _retrying(self, error: RivetError, attempt: int, pause: float) -> None:
        self.tell("retry", attempt=attempt, pause_seconds=round(pause, 3), error=error.message)

    def _warn(self, text: str) -> None:
        self.verdict.warnings.append(text)
        self.tell("warning", message=text)

    def tell(self, kind: str, **data: object) -> None:
        """Say what happens."""
        self._context.events.emit(kind, self.task.name, **data)  # type: ignore[arg-type]
