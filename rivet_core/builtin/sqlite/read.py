"""The rows of one unit as Arrow batches: one statement in one read transaction, every value held to its column's type.

SQLite hands out rows, so this is a row path: rows are fetched in small lots, gathered until they fill a batch (counted as
the memory that Python needs for them), turned into columns and checked by class.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from sys import getsizeof
from typing import Any

import pyarrow as pa

from rivet_core.builtin.sqlite.connection import Connection
from rivet_core.builtin.sqlite.cursor import OrderCheck, last_marks
from rivet_core.builtin.sqlite.faults import interrupted
from rivet_core.builtin.sqlite.offender import name_row
from rivet_core.builtin.sqlite.statements import Statement
from rivet_core.builtin.sqlite.types import Reading
from rivet_core.builtin.sqlite.values import BadValue
from rivet_core.errors import SourceError
from rivet_core.facts import ColumnFacts, Mark, Tuning, TypeKind
from rivet_core.sql.marks import refuse_endless

LOT_ROWS = 32
"""Rows fetched at once where values have no fixed size: what a sudden run of very wide rows can cost before it is seen."""
LOT_ROWS_FIXED = 1024
ROW_BYTES = 64
CELL_BYTES = 40
"""What Python needs for a row's tuple, and for one number in it with its pointer."""

_UNDECODABLE = re.compile(r"Could not decode to UTF-8 column '(?P<column>.*?)' with text", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What one unit delivers: `columns` with their `readings`, of which the first `visible` are output.

    `cursor` tells, for a unit that moves a cursor, which positions of a row make its marks: (name, declared type, places in
    the row of which the first that is not NULL counts). `label` is the table, or the export of a query; `relation`, `key`
    and `rowid` name a row in an error.
    """

    export: str
    label: str
    relation: str = ""
    key: tuple[str, ...] = ()
    rowid: str = ""
    columns: tuple[ColumnFacts, ...]
    readings: tuple[Reading, ...]
    visible: int
    cursor: tuple[tuple[str, str, tuple[int, ...]], ...] = ()
    order: OrderCheck | None = None

    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the output."""
        fields = [
            pa.field(column.name, how.arrow, nullable=column.nullable, metadata={"rivet.source_type": column.source_type})
            for column, how in zip(self.columns[: self.visible], self.readings, strict=False)
        ]
        return pa.schema(fields)


class SqliteStream:
    """The rows of one unit (`RecordStream`). The connection goes back when the last batch was taken, or on `close`."""

    def __init__(
        self,
        connection: Connection,
        release: Callable[[Connection], None],
        shape: Shape,
        statement: Statement,
        tuning: Tuning,
        *,
        refuse_rows: SourceError | None = None,
        counts: dict[str, int] | None = None,
    ) -> None:
        self._connection = connection
        self._release = release
        self._shape = shape
        self._statement = statement
        self._tuning = tuning
        self._refuse_rows = refuse_rows
        self._schema = shape.schema()
        self._marks: tuple[Mark, ...] | None = None
        self._counts = dict(counts or {})
        self._lock = threading.Lock()
        self._done = False
        self._cursor: sqlite3.Cursor | None = None
        self._lot = 8
        self._wide = [place for place, how in enumerate(shape.readings) if how.wide]

    @property
    def schema(self) -> pa.Schema:
        """The schema of every batch."""
        return self._schema

    @property
    def marks(self) -> tuple[Mark, ...] | None:
        """The greatest cursor position delivered; `None` before the last batch, for no rows, or when no cursor moves."""
        return self._marks

    @property
    def counts(self) -> dict[str, int]:
        """Rows that `null_cursor: skip` left out."""
        return dict(self._counts)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches. Raises `SourceError`; then nothing that was delivered may be kept."""
        last: list[Any] = []
        try:
            while columns := self._gather():
                last = [values[-1] for values in columns]
                yield self._batch(columns)
            self._connection.verify()
        except SourceError:
            self._connection.verify()  # what looks damaged may be pages that a writer moved
            raise
        finally:
            self.close()
        if last and self._shape.cursor:
            values = [_first_set([last[place] for place in places]) for _, _, places in self._shape.cursor]
            found = last_marks([(name, declared) for name, declared, _ in self._shape.cursor], values)
            if isinstance(values[0], float):
                refuse_endless(self._shape.export, found[0], TypeKind.FLOAT)
            self._marks = found

    def close(self) -> None:
        """Stop and give the connection back. From another thread: the reading one stops at once and gives it back."""
        if not self._lock.acquire(blocking=False):
            self._connection.interrupt()
            return
        with_cursor, self._cursor = self._cursor, None
        try:
            if self._done:
                return
            self._done = True
            if with_cursor is not None:
                with_cursor.close()
            self._release(self._connection)
        finally:
            self._lock.release()

    def _gather(self) -> list[list[Any]]:
        """Return the columns of the next rows, about `batch_bytes` of them; no columns at the end."""
        columns: list[list[Any]] = [[] for _ in self._shape.columns]
        count = size = 0
        fixed = ROW_BYTES + CELL_BYTES * len(columns)
        most = LOT_ROWS if self._wide else LOT_ROWS_FIXED
        budget, limit = self._tuning.batch_bytes, self._tuning.batch_rows or (1 << 62)
        with self._lock:
            while size < budget and count < limit:
                got = self._fetch(min(self._lot, limit - count))
                if not got:
                    break
                parts = tuple(zip(*got, strict=True))
                for column, part in zip(columns, parts, strict=True):
                    column += part
                width = fixed * len(got) + sum(sum(map(getsizeof, parts[place])) for place in self._wide)
                count, size = count + len(got), size + width
                self._lot = max(1, min(most, self._lot * 2, budget * len(got) // (4 * width)))
        if count and self._refuse_rows is not None:
            raise self._refuse_rows
        return columns if count else []

    def _fetch(self, rows: int) -> list[tuple[Any, ...]]:
        connection = self._connection
        if self._done or connection.cancelled:
            raise interrupted(connection.path, f"reading {self._shape.label}")
        connection.limit_statement(self._tuning.statement_timeout_seconds)
        try:
            if self._cursor is None:
                self._cursor = connection.execute(self._statement.sql, self._statement.values)
            return self._cursor.fetchmany(rows)
        except sqlite3.Error as error:
            if found := _UNDECODABLE.search(str(error)):
                raise self._bad(found["column"], BadValue("holds text that is not UTF-8", "binary"), None) from None
            raise connection.fault(error, f"reading {self._shape.label}") from error

    def _batch(self, columns: Sequence[list[Any]]) -> pa.RecordBatch:
        shape = self._shape
        if shape.order is not None:
            places = shape.cursor[0][2]
            values = columns[places[0]]
            shape.order.see(values if len(places) == 1 else map(_first_set, zip(*(columns[p] for p in places), strict=True)))
        arrays = []
        for place, (values, column, how) in enumerate(zip(columns, shape.columns, shape.readings, strict=True)):
            try:
                array = how.convert(values, set(map(type, values)))
            except BadValue as bad:
                raise self._bad(column.name, bad, _first_bad(columns, place, how)) from None
            if place < shape.visible:
                arrays.append(array)
        return pa.record_batch(arrays, schema=self._schema)

    def _bad(self, column: str, bad: BadValue, row: list[Any] | None) -> SourceError:
        where = name_row(self._connection, self._shape, column, bad, row)
        return SourceError(
            f"{self._shape.label}, column {column}: {where} {bad.reason}",
            hint=f"correct the row, or say `columns: {{{column}: {bad.override}}}` under the export {self._shape.export}",
            error_class="data",
        )


def _first_set(values: Iterable[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _first_bad(columns: Sequence[list[Any]], place: int, how: Reading) -> list[Any] | None:
    """Return the first row whose value at `place` is refused."""
    for row, value in enumerate(columns[place]):
        try:
            how.convert((value,), {type(value)})
        except BadValue:
            return [values[row] for values in columns]
    return None
