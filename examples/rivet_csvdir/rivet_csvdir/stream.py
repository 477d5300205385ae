"""The rows of one unit, read from the file's beginning to its end and filtered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rivet_core.errors import SourceError
from rivet_core.facts import Mark, Mode, ReadSpec, Unit, UnitKind
from rivet_csvdir.options import source_type

BLOCK = 1 << 20


class Stream:
    """Batches of at most `batch_rows` rows and `batch_bytes` bytes. `marks` stand after the last one."""

    def __init__(
        self, path: Path, schema: pa.Schema, delimiter: str, spec: ReadSpec, unit: Unit, cancelled: Callable[[], bool]
    ) -> None:
        self._file = schema
        self._names = list(spec.columns) or schema.names
        self.schema = pa.schema([schema.field(name) for name in self._names])
        self.marks: tuple[Mark, ...] | None = None
        self.counts: dict[str, int] = {}
        self._path, self._delimiter, self._unit, self._cancelled = path, delimiter, unit, cancelled
        self._tuning = spec.tuning
        self._refuses_nulls = spec.mode is Mode.INCREMENTAL and spec.null_cursor == "fail" and unit.kind is UnitKind.NULLS
        self._closed = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            if self._unit.kind is UnitKind.CURSOR:
                yield from self._ordered()
            else:
                for batch in self._blocks():
                    if self._refuses_nulls and batch.num_rows:
                        raise SourceError(
                            f"{self._path.name} has rows without a value in {self._unit.columns[0]}",
                            hint="null_cursor: include or skip",
                            error_class="data",
                        )
                    yield from self._bounded(batch)
        except (pa.ArrowInvalid, OSError) as error:
            # Without its text: it quotes the value that does not fit.
            raise SourceError(
                f"{self._path.name} does not fit its declared types ({type(error).__name__})",
                hint="check `tables` of the source: a type, a `not null`, or the delimiter",
                error_class="data",
            ) from None

    def close(self) -> None:
        """Stop reading. Closing twice is fine."""
        self._closed = True

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        """Yield the unit's rows as they come, block by block, with all columns."""
        convert = csv.ConvertOptions(
            column_types=self._file,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
            include_columns=self._file.names,
        )
        parse = csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        size = max(1024, min(BLOCK, self._tuning.batch_bytes))
        with csv.open_csv(self._path, csv.ReadOptions(block_size=size), parse, convert) as reader:
            for batch in reader:
                if self._closed:
                    return
                if self._cancelled():
                    raise SourceError("reading was cancelled", transient=False)
                for field, column in zip(self._file, batch.columns, strict=True):
                    if not field.nullable and column.null_count:
                        raise pa.ArrowInvalid(field.name)
                yield batch.cast(self._file).filter(self._inside(batch)) if self._unit.columns else batch.cast(self._file)

    def _inside(self, batch: pa.RecordBatch) -> pa.Array:
        """Return which rows belong to the unit, by the order of its columns taken together."""
        unit = self._unit
        if unit.kind is UnitKind.NULLS:
            return pc.is_null(batch.column(unit.columns[0]))
        inside = pc.is_valid(batch.column(unit.columns[0]))
        if unit.lower:
            inside = pc.and_kleene(inside, self._beyond(batch, unit.lower, inclusive=unit.lower_inclusive))
        if unit.upper:
            inside = pc.and_kleene(inside, pc.invert(self._beyond(batch, unit.upper, inclusive=not unit.upper_inclusive)))
        return inside

    def _beyond(self, batch: pa.RecordBatch, marks: Sequence[Mark], *, inclusive: bool) -> pa.Array:
        """Return which rows stand after `marks`; with `inclusive` also those at them."""
        after: pa.Array | None = None
        for mark in reversed(marks):
            column = batch.column(mark.column)
            value = pa.scalar(mark.value).cast(self._file.field(mark.column).type)
            last = after is None
            here = pc.greater_equal(column, value) if last and inclusive else pc.greater(column, value)
            after = here if last else pc.or_kleene(here, pc.and_kleene(pc.equal(column, value), after))
        return after

    def _ordered(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows past the cursor in its order; they must fit into memory."""
        found = pa.Table.from_batches(list(self._blocks()), self._file)
        found = found.sort_by([(name, "ascending") for name in self._unit.columns])
        for batch in found.to_batches():
            yield from self._bounded(batch)
        if found.num_rows:
            self.marks = tuple(
                Mark(
                    column=name,
                    type=source_type(self._file.field(name).type),
                    value=text_of(found.column(name)[-1]),
                )
                for name in self._unit.columns
            )

    def _bounded(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        batch = batch.select(self._names)
        rows = self._tuning.batch_rows or max(1, batch.num_rows)
        per_row = max(1, batch.nbytes // max(1, batch.num_rows))
        rows = max(1, min(rows, self._tuning.batch_bytes // per_row))
        for start in range(0, batch.num_rows, rows):
            if self._closed:
                return
            yield batch.slice(start, rows)


def text_of(value: pa.Scalar) -> str:
    """Return a value at full precision, as a mark keeps it."""
    found = value.as_py()
    return found.isoformat(sep=" ") if hasattr(found, "hour") else str(found)
