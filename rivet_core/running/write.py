"""Writing one unit: batches in, published parts out.

The encoder runs in a thread of its own behind a queue bounded by bytes, so that reading and encoding overlap; a unit of a
single batch needs no thread. A part is committed (durable, under its final key) before it is counted (I1, I2).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from rivet_core.facts import ExportSpec
from rivet_core.facts.memory import MAX_HELD_BYTES, MAX_OPEN_PARTITIONS, QUEUE_BYTES, group_limits
from rivet_core.running import faults
from rivet_core.running.columns import Partitioner
from rivet_core.running.csvtext import CsvFile
from rivet_core.running.parquet import ParquetFile
from rivet_core.running.statistics import ColumnStatistics
from rivet_core.state import PartRecord
from rivet_core.stores import Part, Store


class PartFile(Protocol):
    """A file format's writer over one part."""

    @property
    def size(self) -> int:
        """Bytes of the file so far, those that its buffers still hold included."""

    def add(self, batches: list[pa.RecordBatch]) -> None:
        """Append rows."""

    def finish(self) -> ColumnStatistics:
        """End the file; its part is committed by the caller."""

    def abandon(self) -> None:
        """Drop the file and its part."""


FORMATS: dict[str, Callable[[Part, pa.Schema, ExportSpec], PartFile]] = {"parquet": ParquetFile, "csv": CsvFile}


class UnitWriter:
    """Writes the batches of one unit. `name(partition, part)` gives each part's key. Not thread-safe: one reader uses it."""

    def __init__(
        self,
        store: Store,
        spec: ExportSpec,
        schema: pa.Schema,
        unit: int,
        name: Callable[[str, int], str],
        publishing: Callable[[], None] | None = None,
    ) -> None:
        self._encoder = Encoder(store, spec, schema, unit, name, publishing)
        self._first: pa.RecordBatch | None = None
        self._queue: deque[pa.RecordBatch | None] = deque()
        self._queued = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Hand a batch over; waits while the encoder is behind. Raises what the encoder raised."""
        if self._thread is None:
            if self._first is None:
                self._first = batch
                return
            self._thread = threading.Thread(target=self._run, name="rivet-encoder", daemon=True)
            self._push(self._first)
            self._first = None
            self._thread.start()
        self._push(batch)

    def finish(self) -> tuple[PartRecord, ...]:
        """Wait for the encoder and return the published parts, in order."""
        if self._thread is None:
            if self._first is not None:
                self._encoder.add(self._first)
        else:
            self._push(None)
            self._thread.join()
            self._raise()
        return self._encoder.finish()

    def abort(self) -> None:
        """Stop the encoder and drop what is open; parts that are already published are overwritten by the retry."""
        if self._thread is not None:
            with self._changed:
                self._error = self._error or EncodingStoppedError()
                self._changed.notify_all()
            self._thread.join()
        self._encoder.abort()

    def _push(self, batch: pa.RecordBatch | None) -> None:
        size = batch.nbytes if batch is not None else 0
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or not self._queued or self._queued + size <= QUEUE_BYTES)
            self._raise()
            self._queue.append(batch)
            self._queued += size
            self._changed.notify_all()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._queue or self._error is not None)
                    if self._error is not None:
                        return
                    batch = self._queue.popleft()
                if batch is None:
                    return
                self._encoder.add(batch)
                with self._changed:
                    self._queued -= batch.nbytes
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - handed to the reading thread, which raises it
            with self._changed:
                self._error = error
                self._changed.notify_all()


class EncodingStoppedError(Exception):
    """The reader gave up; never seen outside of the writer."""


class Encoder:
    """Turns batches into parts: row groups by bytes, a new part at `max_file_size`, a file per partition."""

    def __init__(
        self,
        store: Store,
        spec: ExportSpec,
        schema: pa.Schema,
        unit: int,
        name: Callable[[str, int], str],
        publishing: Callable[[], None] | None = None,
    ) -> None:
        self._store = store
        self._spec = spec
        self._schema = schema
        self._unit = unit
        self._name = name
        self._publishing = publishing
        self._partitioner = Partitioner(spec, schema)
        self._open: dict[str, _OpenPart] = {}
        self._parts: list[PartRecord] = []
        self._next = 0
        self._group_bytes, self._group_rows = group_limits(spec)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows in."""
        for partition, rows in self._partitioner.split(batch):
            for piece in self._pieces(rows):
                self._hold(partition, piece)
            self._bound()

    def finish(self) -> tuple[PartRecord, ...]:
        """Close every open part."""
        for part in list(self._open.values()):
            self._close(part)
        return tuple(self._parts)

    def empty(self) -> tuple[PartRecord, ...]:
        """Write one part that has the schema and no rows."""
        self._close(self._start(""))
        return tuple(self._parts)

    def abort(self) -> None:
        """Drop every open part."""
        for part in self._open.values():
            part.file.abandon()
        self._open.clear()

    def _hold(self, partition: str, piece: pa.RecordBatch) -> None:
        """Hold rows back until they are a row group: never more rows than asked for, and few bytes more."""
        while piece.num_rows:
            part = self._open.get(partition) or self._start(partition)
            room = self._group_rows - part.held_rows if self._group_rows else piece.num_rows
            part.hold(piece.slice(0, room))
            piece = piece.slice(room)
            if part.held_bytes >= self._group_bytes or part.held_rows == self._group_rows:
                self._flush(part)

    def _bound(self) -> None:
        held = sum(part.held_bytes for part in self._open.values())
        while held > max(MAX_HELD_BYTES, self._group_bytes):
            largest = max(self._open.values(), key=lambda part: part.held_bytes)
            held -= largest.held_bytes
            self._flush(largest)

    def _pieces(self, rows: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Cut a batch where it passes the row group's limit, so that a small `max_file_size` or row count holds."""
        size = max(1, rows.nbytes // max(1, rows.num_rows))
        limit = max(1, self._group_bytes // size)
        if self._group_rows:
            limit = min(limit, self._group_rows)
        if rows.num_rows <= limit or (not self._group_rows and rows.nbytes <= 2 * self._group_bytes):
            return [rows]
        return [rows.slice(start, limit) for start in range(0, rows.num_rows, limit)]

    def _start(self, partition: str) -> _OpenPart:
        if len(self._open) >= MAX_OPEN_PARTITIONS:
            self._close(max(self._open.values(), key=lambda part: part.rows + part.held_rows))
        faults.point("part_open")
        number, self._next = self._next, self._next + 1
        part = self._store.write(self._name(partition, number))
        try:
            file = FORMATS[self._spec.format](part, self._schema, self._spec)
        except BaseException:
            part.abort()
            raise
        opened = _OpenPart(partition, number, part, file)
        self._open[partition] = opened
        return opened

    def _flush(self, part: _OpenPart) -> None:
        before = part.file.size
        part.flush()
        grown = part.file.size - before
        if self._spec.max_file_size and part.file.size + grown > self._spec.max_file_size:
            self._close(part)

    def _close(self, part: _OpenPart) -> None:
        try:
            part.flush()
            statistics = part.file.finish()
            faults.point("part_written")
            if self._publishing is not None:
                self._publishing()
            written = part.part.commit()
        except BaseException:
            part.file.abandon()
            raise
        finally:
            self._open.pop(part.partition, None)
        faults.point("part_published")
        self._parts.append(
            PartRecord(
                unit=self._unit,
                part=part.number,
                key=written.key,
                rows=part.rows,
                bytes=written.bytes,
                checksum=written.checksum,
                columns=statistics.as_json(),
                partition=part.partition,
            )
        )


class _OpenPart:
    """A part that still takes rows, and the rows held back until they are a row group."""

    def __init__(self, partition: str, number: int, part: Part, file: PartFile) -> None:
        self.partition = partition
        self.number = number
        self.part = part
        self.file = file
        self.rows = 0
        self.held_rows = 0
        self.held_bytes = 0
        self._held: list[pa.RecordBatch] = []

    def hold(self, batch: pa.RecordBatch) -> None:
        if not self.part.is_open:
            raise RuntimeError(f"rows for {self.part.key} after it was closed")
        self._held.append(batch)
        self.held_rows += batch.num_rows
        self.held_bytes += batch.nbytes

    def flush(self) -> None:
        held, self._held = self._held, []
        if held:
            self.file.add(held)
        self.rows += self.held_rows
        self.held_rows = self.held_bytes = 0
