"""Reading one unit into published parts: one try of it. Retries are the caller's, and always begin at the unit's first row."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rivet_core.api import SourceSession
from rivet_core.errors import DestinationError, IntegrityError, InternalError, SourceError
from rivet_core.facts import Mode, NullCursor, Unit, UnitKind
from rivet_core.running.columns import AddedColumns
from rivet_core.running.drift import check_drift, schema_json
from rivet_core.running.foreign import CheckedStream, foreign
from rivet_core.running.pressure import SourceGate
from rivet_core.running.quality import Uniqueness
from rivet_core.running.stop import Stop
from rivet_core.running.task import ExportTask
from rivet_core.running.write import Encoder, UnitWriter
from rivet_core.state import UnitRecord
from rivet_core.stores import Store

PROGRESS_SECONDS = 0.5
"""At most one progress event per export in this time."""


class UnitReader:
    """Reads the units of one export; several threads may read different units at once.

    `name(unit, partition, part)` gives keys, `before` is the schema of the dataset's last manifest, `shares` whether the new
    files join it, `told(rows, bytes)` hears of progress. `publishing` is called before a part is published, and may refuse it.
    """

    def __init__(
        self,
        task: ExportTask,
        session: SourceSession,
        store: Store,
        *,
        name: Callable[[int, str, int], str],
        before: tuple[Any, ...],
        shares: bool,
        stop: Stop,
        told: Callable[[int, int], None],
        gate: SourceGate | None = None,
        publishing: Callable[[], None] | None = None,
    ) -> None:
        self._task = task
        self._session = session
        self._store = store
        self._name = name
        self._before = before
        self._shares = shares
        self._stop = stop
        self._told = told
        self._lock = threading.Lock()
        self._halted = gate.halted if gate is not None else threading.Event()
        self._gate = gate
        self._publishing = publishing
        self._begun = False
        self._said = 0.0
        self._rows = 0
        self._bytes = 0
        self.schema: pa.Schema | None = None
        self.drift: list[str] = []
        self.notes: list[str] = []
        """What the source says about how the reading went."""
        self.unique: Uniqueness | None = None
        self.written: set[str] = set()
        """Keys of all tries, so that what a failed one left can be removed."""

    def halt(self) -> None:
        """Another unit of the export failed for good: break off the others."""
        self._halted.set()

    def read(self, unit: Unit) -> UnitRecord:
        """Read and write one unit."""
        self._check()
        stream = self._open(unit)
        try:
            added = AddedColumns(self._task.spec, stream.schema)
            self._agree(added.schema, stream.schema)
            record = self._write(unit, stream, added)
        except (SourceError, DestinationError) as error:
            # What a cancelled statement says, or a store that was waited for, is the consequence; the reason is the stop.
            if self._stop.event.is_set() and (isinstance(error, SourceError) or error.transient):
                raise self._stop.error() from error
            raise
        finally:
            if wrong := stream.close():
                self._note(unit, (wrong,))
        return record

    def _open(self, unit: Unit) -> CheckedStream:
        """Begin when the source may be read. A shared snapshot goes on: to hold it longer would only cost the source."""
        gate = self._gate
        if gate is not None and not (self._begun and self._task.spec.snapshot == "consistent"):
            gate.wait()
            self._check()
        self._begun = True
        with foreign(self._task):
            stream = self._session.read(self._task.reading, unit)
            if gate is not None and hasattr(stream, "gate"):
                stream.gate = gate
        return CheckedStream(self._task, unit, stream)

    def empty(self, unit: Unit) -> UnitRecord:
        """Write one file that has the columns and no rows: an export that found nothing still says what it is made of."""
        if self.schema is None:
            self.read(unit)
        assert self.schema is not None  # noqa: S101 - read() sets it or raises
        parts = Encoder(self._store, self._task.spec, self.schema, unit.index, self._key(unit), self._publishing).empty()
        return UnitRecord(
            unit=unit.index, rows=0, bytes=sum(part.bytes for part in parts), parts=parts, schema=schema_json(self.schema)
        )

    def _write(self, unit: Unit, stream: CheckedStream, added: AddedColumns) -> UnitRecord:
        writer = UnitWriter(self._store, self._task.spec, added.schema, unit.index, self._key(unit), self._publishing)
        unique = self.unique
        hashes = unique.pending() if unique and unique.columns else None
        refused = (
            unit.kind is UnitKind.NULLS
            and self._task.spec.mode is Mode.INCREMENTAL
            and self._task.spec.null_cursor is NullCursor.FAIL
        )
        delivered = 0
        try:
            for batch in stream:
                self._check()
                if not batch.num_rows:
                    continue
                if refused:
                    raise IntegrityError(
                        f"{self._task.name}: there are rows whose cursor {unit.columns[0]} is NULL",
                        hint="fill the column, or set null_cursor: include (or skip)",
                        code="null_cursor",
                    )
                if unique and hashes:
                    unique.collect(batch, hashes)
                writer.write(added.extend(batch))
                delivered += batch.num_rows
                self._progress(batch.num_rows, batch.nbytes)
            self._check()
            marks, counts = stream.marks(delivered), stream.counts()
            self._note(unit, stream.notes())
            parts = writer.finish()
        except BaseException:
            writer.abort()
            raise
        written = sum(part.rows for part in parts)
        if written != delivered:
            raise InternalError(
                f"{self._task.name}: {delivered} rows were read and {written} written", hint="please report this bug"
            )
        if unique and hashes:
            unique.take(hashes)
        return UnitRecord(
            unit=unit.index,
            rows=written,
            bytes=sum(part.bytes for part in parts),
            parts=parts,
            marks=marks,
            counts=counts,
            schema=schema_json(added.schema),
        )

    def _note(self, unit: Unit, notes: tuple[str, ...]) -> None:
        if notes:
            with self._lock:
                self.notes += [f"unit {unit.index}: {note}" for note in notes]

    def _key(self, unit: Unit) -> Callable[[str, int], str]:
        def key(partition: str, part: int) -> str:
            found = self._name(unit.index, partition, part)
            with self._lock:
                self.written.add(found)
            return found

        return key

    def _agree(self, schema: pa.Schema, read: pa.Schema) -> None:
        """All units of a run have one schema; the first one is compared with the dataset's, before anything is written."""
        with self._lock:
            if self.schema is None:
                now = schema_json(schema)
                self.drift = check_drift(self._task.spec, self._before, now, shares=self._shares) if self._before else []
                self.unique = Uniqueness(self._task.spec, read)
                self.schema = schema
            elif not self.schema.equals(schema):
                raise IntegrityError(
                    f"{self._task.name}: the columns changed while it was read",
                    hint="plan again: the table was altered meanwhile",
                    code="schema_changed",
                )

    def _check(self) -> None:
        self._stop.check()
        if self._halted.is_set():
            raise SourceError(f"{self._task.name}: broken off because another unit failed", code="halted")

    def _progress(self, rows: int, size: int) -> None:
        with self._lock:
            self._rows += rows
            self._bytes += size
            now = time.monotonic()
            if now - self._said < PROGRESS_SECONDS:
                return
            self._said = now
            totals = self._rows, self._bytes
        self._told(*totals)
