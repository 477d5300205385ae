"""The rows of one unit as record batches: pages, engines, counts and marks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rivet_core.api import PageGate
from rivet_core.errors import SourceError
from rivet_core.facts import Mark, ReadSpec, TypeKind
from rivet_core.sql.endpoint import Endpoint
from rivet_mysql.connection import Link, number
from rivet_mysql.pool import Pool
from rivet_mysql.reading.columnar import read_columnar
from rivet_mysql.reading.columns import Column, schema_of
from rivet_mysql.reading.convert import finish, refuse_lost, refuse_mark
from rivet_mysql.reading.pages import Pacer
from rivet_mysql.reading.rows import read_rows
from rivet_mysql.reading.statement import Selection, Statements, canonical

Batches: TypeAlias = Generator[pa.RecordBatch, None, None]

UNPAGED_ROWS = 100_000
"""An answer without a key is read by the fast engine up to this many rows, which are held; a larger one row by row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One unit ready to be read: statements, columns, session settings, and the policies that concern rows."""

    spec: ReadSpec
    statements: Statements
    settings: tuple[str, ...]
    columnar: bool
    moves: bool
    srids: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    refuse_rows: SourceError | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The output columns."""
        return self.statements.columns

    @property
    def long(self) -> bool:
        """Whether a single value may be many megabytes."""
        return any(column.how.long for column in self.columns)

    @property
    def uneven(self) -> bool:
        """Whether the bytes of a page cannot be told from its rows."""
        return any(column.uneven for column in self.columns)


class MysqlStream:
    """The rows of one unit (`RecordStream`)."""

    def __init__(
        self,
        task: Task,
        pool: Pool,
        endpoint: Endpoint,
        kill: Callable[[Sequence[int], Sequence[str]], None],
        done: Callable[[MysqlStream], None],
    ) -> None:
        self.task = task
        self._pool = pool
        self._endpoint = endpoint
        self._kill = kill
        self._done = done
        self._schema = schema_of(task.columns, dict(task.srids))
        self._counts = dict(task.counts)
        self._marks: tuple[Mark, ...] | None = None
        self._last: tuple[Mark, ...] = ()
        self._closed = threading.Event()
        self.gate: PageGate | None = None
        """Asked between two pages; the connection of the last one went back."""
        self._link: Link | None = None
        self._fast = False
        self._selections: dict[bool, Selection] = {}
        self._seconds = 0.0

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
        """Zero dates that became NULL by column, and the rows that `null_cursor: skip` left out."""
        return dict(self._counts)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches. Raises `SourceError`; then nothing that was delivered may be kept."""
        try:
            yield from self._paged() if self.task.statements.paged else self._whole()
            if self.task.moves and self._last:
                self._marks = self._last
        finally:
            self.close()

    def close(self) -> None:
        """Stop, cancel what still runs at the server, and give the connection back. Closing twice is fine."""
        if self._closed.is_set():
            return
        self._closed.set()
        link, self._link = self._link, None
        if link is not None:
            self._kill([link.thread], ())
            self._pool.give(link, broken=True)
        elif self._fast:
            self._kill((), [self.task.statements.token])
        self._done(self)

    def cancel(self) -> tuple[list[int], list[str]]:
        """Return what to cancel: the server's connection, or the mark of a statement."""
        link = self._link
        return ([link.thread] if link is not None else []), ([self.task.statements.token] if self._fast else [])

    def _paged(self) -> Iterator[pa.RecordBatch]:
        pacer = Pacer(self.task.spec.tuning, long=self.task.long)
        first = True
        while True:
            limit, rows, size, begun = pacer.rows, 0, 0, self._seconds
            # The first page tells how wide rows are, and is all of a small table: no second connection for those.
            fast = self.task.columnar and not first
            if fast and self.task.uneven:
                limit = self._fitting(pacer, limit)
            for batch in self._read(self._last, limit, fast=fast):
                rows, size = rows + batch.num_rows, size + batch.nbytes
                yield self._finish(batch, fast=fast)
            # A short page is the end. The fast engine's word for that is checked: what follows would be read, never lost.
            if rows < limit and not (fast and self._more()):
                return
            first = False
            seconds = self._seconds - begun
            pacer.learn(rows=rows, size=size, seconds=seconds)
            self._closed.wait(pacer.pause(seconds))
            if self.gate is not None and not self.gate.is_clear:
                self.gate.wait()

    def _whole(self) -> Iterator[pa.RecordBatch]:
        if self.task.columnar and not self.task.long:
            held = list(self._read((), UNPAGED_ROWS, fast=True))
            if sum(batch.num_rows for batch in held) < UNPAGED_ROWS:
                yield from (self._finish(batch, fast=True) for batch in held)
                return
            held.clear()
        for batch in self._read((), None, fast=False):
            yield self._finish(batch, fast=False)

    def _fitting(self, pacer: Pacer, rows: int) -> int:
        """Return how many rows the next page may have: the fast engine holds all of a page, and one value may be megabytes."""
        with self._pool.link() as link:
            link.apply(self.task.settings)
            while True:
                size = number(link.rows(self.task.statements.size_of(self._last, rows), doing=self._doing)[0][0]) or 0
                fewer = pacer.fits(rows, size)
                if fewer == rows:
                    return rows
                rows = fewer

    def _more(self) -> bool:
        with self._pool.link() as link:
            link.apply(self.task.settings)
            return bool(link.rows(self.task.statements.exists_after(self._last), doing=self._doing))

    @property
    def _doing(self) -> str:
        return f"reading {self.task.spec.table or self.task.spec.export}"

    def _selection(self, *, fast: bool) -> Selection:
        if fast not in self._selections:
            self._selections[fast] = self.task.statements.selection(rows=not fast)
        return self._selections[fast]

    def _read(self, after: Sequence[Mark], limit: int | None, *, fast: bool) -> Iterator[pa.RecordBatch]:
        selection = self._selection(fast=fast)
        sql = self.task.statements.select(selection, after, limit)
        source = self._by_columns(sql, selection) if fast else self._by_rows(sql, selection)
        try:
            while True:
                if self._closed.is_set():
                    raise SourceError(f"{self._doing}: cancelled", hint="run it again", error_class="timeout")
                begun = time.monotonic()
                batch = next(source, None)
                self._seconds += time.monotonic() - begun
                if batch is None:
                    return
                yield batch
        finally:
            source.close()

    def _by_rows(self, sql: str, selection: Selection) -> Batches:
        link = self._link = self._pool.take()
        try:
            link.apply(self.task.settings)
            yield from read_rows(link, sql, selection.wires, self.task.spec.tuning, long=self.task.long, doing=self._doing)
        except SourceError as error:
            self._link = None
            self._pool.give(link, broken=error.error_class in ("connection", "timeout", "data"))
            raise
        except GeneratorExit:
            self.close()
            raise
        except BaseException:
            self._link = None
            self._pool.give(link, broken=True)
            raise
        self._link = None
        self._pool.give(link)

    def _by_columns(self, sql: str, selection: Selection) -> Batches:
        with self._pool.place():
            self._fast = True
            try:
                most = self.task.spec.tuning.batch_rows
                yield from read_columnar(self._endpoint, sql, selection.wires, self.task.settings, most=most, doing=self._doing)
            except GeneratorExit:
                self.close()
                raise
            finally:
                self._fast = False

    def _finish(self, batch: pa.RecordBatch, *, fast: bool) -> pa.RecordBatch:
        if self.task.refuse_rows is not None:
            raise self.task.refuse_rows
        selection = self._selection(fast=fast)
        self._count_zeros(batch, selection)
        for place, column in selection.srids:
            self._check_srid(batch.column(place), column)
        if selection.key:
            row = batch.num_rows - 1
            values = [batch.column(place)[row].as_py() for place in selection.key]
            positions = self.task.statements.positions
            for position, value in zip(positions, values, strict=True):
                if value is None and position.lossy:
                    raise refuse_mark(position.name, self.task.spec.export)
            self._last = tuple(canonical(position, str(value)) for position, value in zip(positions, values, strict=True))
        arrays = [finish(batch.column(place), column, self.task.spec.export) for place, column in enumerate(self.task.columns)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _count_zeros(self, batch: pa.RecordBatch, selection: Selection) -> None:
        for place, column in enumerate(self.task.columns):
            if column.zeros and not column.nullable:
                self._zeros(column, batch.column(place).null_count)
        for place, group in selection.flags:
            flags = batch.column(place)
            if pc.max(flags).as_py():
                for bit, column in enumerate(group):
                    self._zeros(column, pc.sum(pc.bit_wise_and(pc.shift_right(flags, bit), 1)).as_py())

    def _zeros(self, column: Column, found: int) -> None:
        if not found:
            return
        policy = self.task.spec.out_of_range
        if policy == "fail" or (policy == "text" and column.how.kind in (TypeKind.TEXT, TypeKind.ENUM)):
            raise refuse_lost(column, self.task.spec.export, found)
        key = f"{column.name}: {column.how.lost} to null"
        self._counts[key] = self._counts.get(key, 0) + found

    def _check_srid(self, values: pa.Array, column: Column) -> None:
        wanted = self.task.srids.get(column.name, 0)
        if pc.any(pc.not_equal(values, wanted)).as_py():
            found = next(value for value in values.to_pylist() if value not in (None, wanted))
            raise SourceError(
                f"{self.task.spec.export}, column {column.name}: geometries of SRID {wanted} and of SRID {found}",
                hint=f"set `columns: {{{column.name}: text}}`, which keeps each value's own SRID",
                error_class="data",
            )
