"""A source's stream, held to what a stream promises: what its plugin raises or gives wrongly is the fault of that source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa

from rivet_core.api import RecordStream
from rivet_core.errors import InternalError, RivetError, SourceError, named
from rivet_core.facts import Mark, Mode, Unit, UnitKind
from rivet_core.plugins import raising
from rivet_core.running.task import ExportTask

_END = object()
HINT = "this is a fault of the plugin: report it to its authors"


class CheckedStream:
    """The rows of one unit as `UnitReader` takes them. Raises `SourceError` naming the source for whatever is no answer."""

    def __init__(self, task: ExportTask, unit: Unit, stream: RecordStream) -> None:
        self._task = task
        self._unit = unit
        self._stream = stream
        with foreign(task):
            schema = stream.schema
        if not isinstance(schema, pa.Schema):
            raise self._fault(f"its schema is a {type(schema).__name__}")
        self.schema: pa.Schema = schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with foreign(self._task):
            batches = iter(self._stream)
        while True:
            with foreign(self._task):
                batch: object = next(batches, _END)
            if batch is _END:
                return
            if not isinstance(batch, pa.RecordBatch):
                raise self._fault(f"it gave a {type(batch).__name__} where a record batch belongs")
            if not batch.schema.equals(self.schema):
                raise self._fault("it gave a batch with other columns than the stream's schema has")
            yield batch

    def marks(self, rows: int) -> tuple[Mark, ...] | None:
        """Return how far the cursor reached after so many rows. Without it the next run would deliver them again."""
        with foreign(self._task):
            marks: Any = self._stream.marks
        spec, unit = self._task.spec, self._unit
        moves = spec.mode is Mode.INCREMENTAL and unit.kind is not UnitKind.NULLS
        if marks is None:
            if moves and rows:
                raise self._fault(f"it gave {rows} rows of unit {unit.index} and not how far they reach")
            return None
        if not isinstance(marks, tuple) or not all(_is_mark(mark) for mark in marks):
            raise self._fault("its marks are no tuple of marks")
        named_columns = tuple(mark.column for mark in marks)
        if moves and self._task.reading.cursor_mode != "coalesce" and unit.columns and named_columns != unit.columns:
            raise self._fault(f"its marks are on {', '.join(named_columns)}, the cursor is {', '.join(unit.columns)}")
        return marks

    def counts(self) -> dict[str, int]:
        """Return the values that a policy replaced."""
        with foreign(self._task):
            counts: Any = self._stream.counts
        if not isinstance(counts, Mapping) or not all(isinstance(key, str) and _is_count(counts[key]) for key in counts):
            raise self._fault("its counts are no mapping of texts to whole numbers")
        return dict(counts)

    def notes(self) -> tuple[str, ...]:
        """Return what the source says about how the reading went."""
        with foreign(self._task):
            return tuple(str(note) for note in getattr(self._stream, "notes", ()))

    def close(self) -> str:
        """Close the stream; return what went wrong, which no row depends on any more."""
        try:
            with foreign(self._task):
                self._stream.close()
        except RivetError as error:
            return f"its stream could not be closed: {error.message}"
        return ""

    def _fault(self, what: str) -> SourceError:
        return plugin_failed(self._task, what)


class Export(Protocol):
    """Whose source is asked: the task of an export, or its spec."""

    @property
    def name(self) -> str:
        """The export's name."""
        ...

    @property
    def source(self) -> str:
        """The name of its source."""
        ...


def foreign(task: Export) -> AbstractContextManager[None]:
    """Turn what a source's plugin raises, and what is no error of ours, into the failure of one export: a bug, by its name."""
    return raising(lambda error: InternalError(_words(task, named(error)), hint=HINT))


def plugin_failed(task: Export, what: str) -> SourceError:
    """Return the error of an export whose source's plugin did `what`."""
    return SourceError(_words(task, what), hint=HINT)


def _words(task: Export, what: str) -> str:
    return f"{task.name}: the plugin of source {task.source} failed: {what}"


def _is_mark(value: object) -> bool:
    return isinstance(value, Mark) and all(isinstance(text, str) for text in (value.column, value.type, value.value))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
