"""The rows of one unit, streamed: one short read-only transaction, or one for each page; checked to the end of each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from rivet_core.api import PageGate
from rivet_core.errors import RivetError, SourceError
from rivet_core.facts import Mark, TypeKind, UnitKind
from rivet_core.sql.endpoint import Endpoint
from rivet_core.sql.marks import mark_of, order_key, refuse_endless, shift
from rivet_core.sql.pages import PageTuner
from rivet_postgres.failures import translate
from rivet_postgres.paging import Pages
from rivet_postgres.pool import Lender
from rivet_postgres.reading import Reading
from rivet_postgres.statement import IN_KEY_ORDER, Statement
from rivet_postgres.values import Converter, last_marked

_NOTHING = pa.RecordBatch.from_arrays([], names=[])
"""What comes between two pages."""


class PostgresStream:
    """A `RecordStream` over one connection, which goes back when the rows end, or when it is closed.

    Everything that touches the connection holds one lock; only `cancel` does not wait for it.
    """

    def __init__(
        self, reading: Reading, lender: Lender, endpoint: Endpoint, began: Callable[[PostgresStream], None] | None = None
    ) -> None:
        self._reading = reading
        self._endpoint = endpoint
        self._lender = lender
        self._lock = threading.RLock()
        self._done = False
        self._on_end: Callable[[PostgresStream], None] | None = None
        self._stopped = threading.Event()
        self.gate: PageGate | None = None
        """Asked between two pages."""
        self._skipped = 0
        self._last: list[Mark] | None = None
        self._began = 0.0
        self._standby = False
        self._pause = 0.0
        tuning, selection = reading.spec.tuning, reading.selection
        self._pages = Pages(reading.pages, tuning) if reading.pages is not None else None
        self._tuner = PageTuner(tuning)
        self._converters = [
            Converter(plan, reading.spec.out_of_range or "fail", decoded=reading.engine.binary) for plan in selection.plans
        ]
        self.schema = pa.schema([plan.field for plan in selection.plans[: selection.visible]])
        self._connection: Any = lender.take()
        self._statement: Statement | None = None
        if began is not None:
            began(self)  # whoever cancels must know of it before the first statement, which may take long
        try:
            self._open_patiently()
        except BaseException as error:  # noqa: BLE001 - Ctrl-C too must give the connection back
            self._finish(broken=True)
            raise self._failure(error) from None

    @property
    def counts(self) -> dict[str, int]:
        """Values that the policy replaced by NULL, as `column: null_counted`."""
        selection = self._reading.selection
        pairs = zip(selection.plans[: selection.visible], self._converters[: selection.visible], strict=True)
        replaced = {f"{plan.name}: null_counted": one.replaced for plan, one in pairs if one.replaced}
        return replaced | ({self._reading.count_name: self._skipped} if self._skipped else {})

    @property
    def marks(self) -> tuple[Mark, ...] | None:
        """The greatest cursor position delivered, `None` when no row moved it; valid once the rows have ended."""
        if self._last is None or self._behind(self._last[0]):
            return None
        return tuple(self._last)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader should know about how it went: conflicts that made pages smaller."""
        return self._pages.notes() if self._pages is not None else ()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while (batch := self._next()) is not None:
                if batch.num_rows:
                    yield from self._bounded(batch)
            self._rest()
        finally:
            self.close()

    def on_end(self, callback: Callable[[PostgresStream], None]) -> None:
        """Call back once when the connection has gone back; at once when it already has."""
        with self._lock:
            self._on_end = callback
            if self._done:
                callback(self)

    def cancel(self) -> None:
        """Cancel the statement at the server; the thread that reads gets the error."""
        self._stopped.set()
        if (statement := self._statement) is not None:
            statement.cancel()

    def close(self) -> None:
        """Stop, cancel at the server and give the connection back. Closing twice is fine."""
        if self._done:
            return
        self.cancel()
        with self._lock:
            self._finish(broken=False)

    def _open(self) -> None:
        """Begin a transaction and ask for the rows of the unit, or of its next page."""
        reading, pages = self._reading, self._pages
        if self._connection is None:
            self._connection = self._lender.take()
        statement = reading.engine.statement(self._connection, reading.spec, reading.selection.plans)
        self._statement = statement
        self._began = time.monotonic()
        statement.begin(snapshot=reading.snapshot, settings=IN_KEY_ORDER if pages is not None else None)
        self._standby = statement.standby
        if reading.count_sql:
            self._skipped = int((statement.row(reading.count_sql) or (0,))[0])
        if self._stopped.is_set():
            raise self._cancelled()
        if pages is None:
            statement.select(reading.sql)
            return
        if sql := pages.end_sql:
            pages.bound(statement.row(sql))
        statement.select(pages.next_sql())

    def _open_patiently(self) -> None:
        while True:
            try:
                return self._open()
            except Exception as error:
                if not self._recovered(error):
                    raise

    def _pass_gate(self) -> None:
        """Wait between two pages while the source is to be left alone, without holding a connection."""
        gate = self.gate
        if gate is None or self._done or self._statement is not None or gate.is_clear:
            return
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                self._lender.give(connection, False)
        gate.wait()

    def _next(self) -> pa.RecordBatch | None:
        self._rest()
        self._pass_gate()
        with self._lock:
            while not self._done:
                try:
                    if self._stopped.is_set():
                        raise self._cancelled()
                    if self._statement is None:
                        self._open()
                    return self._advance()
                except BaseException as error:  # noqa: BLE001 - Ctrl-C too must give the connection back
                    if self._recovered(error):
                        continue
                    failure = self._failure(error)
                    self._finish(broken=True)
                    raise failure from None
        if self._stopped.is_set():
            raise self._cancelled()
        return None

    def _advance(self) -> pa.RecordBatch | None:
        """Return the next batch of the statement that runs; between pages one without rows, `None` at the end of the unit."""
        assert self._statement is not None  # noqa: S101 - the caller opened it
        pages = self._pages
        if pages is not None and pages.overran(self._seconds):
            seconds = self._seconds
            self._break_off()
            pages.ended(seconds, cut=True)
            self._pause = self._tuner.pause(seconds)
            return _NOTHING
        batch = self._statement.next()
        if batch is not None:
            return self._convert(batch)
        self._statement.end()
        self._statement = None
        seconds = self._seconds
        self._pause = self._tuner.pause(seconds)
        if pages is not None and pages.ended(seconds):
            return _NOTHING
        self._finish(broken=False)
        return None

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _rest(self) -> None:
        """Sleep after a page, outside of its transaction; a cancel wakes up."""
        pause, self._pause = self._pause, 0.0
        if pause > 0:
            self._stopped.wait(pause)

    def _recovered(self, error: BaseException) -> bool:
        """Whether a page that failed can be read again, in smaller ones, from the last row delivered."""
        if self._pages is None or self._stopped.is_set() or not isinstance(error, Exception):
            return False
        found = translate(error, self._endpoint, self._reading.spec.export)
        wait = self._pages.again(found, standby=self._standby)
        if wait is None:
            return False
        self._break_off()
        self._stopped.wait(wait)
        return True

    def _break_off(self) -> None:
        """End the page that runs where it stands; a connection that does not survive it goes back broken."""
        statement, self._statement = self._statement, None
        if statement is not None and not statement.abandon():
            connection, self._connection = self._connection, None
            self._lender.give(connection, True)

    def _convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._refuse_nulls(batch)
        outside = self._statement.outside if self._statement is not None else ()
        for one, count in zip(self._converters, outside, strict=False):
            one.replace(count)
        arrays = [one.convert(array) for one, array in zip(self._converters, batch.columns, strict=True)]
        selection = self._reading.selection
        if selection.marks and (row := last_marked([arrays[at] for _, _, at in selection.marks])) is not None:
            found = [mark_of(name, source_type, arrays[at][row]) for name, source_type, at in selection.marks]
            self._last = [mark for mark in found if mark is not None]
            refuse_endless(self._reading.spec.export, self._last[0], self._reading.cursor_kind or TypeKind.OTHER)
        if self._pages is not None and batch.num_rows:
            self._pages.passed(batch, arrays)
        return pa.RecordBatch.from_arrays(arrays[: selection.visible], schema=self.schema)

    def _refuse_nulls(self, batch: pa.RecordBatch) -> None:
        spec, unit = self._reading.spec, self._reading.unit
        if batch.num_rows and unit.kind is UnitKind.NULLS and spec.null_cursor == "fail" and spec.cursor:
            raise SourceError(
                f"{spec.export}: rows have no {' or '.join(unit.columns)}, and null_cursor is fail",
                hint="set `null_cursor: include` or `skip`, or give every row a cursor",
                error_class="data",
            )

    def _behind(self, mark: Mark) -> bool:
        """Whether a lookback read found nothing up to where the cursor already stands: it must not go back."""
        spec, unit, kind = self._reading.spec, self._reading.unit, self._reading.cursor_kind
        if not spec.lookback_seconds or not unit.lower or kind is None:
            return False
        stood = shift(unit.lower[0], kind, spec.lookback_seconds)
        return bool(order_key(mark.value, kind) < order_key(stood.value, kind))

    def _bounded(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        rows = self._reading.spec.tuning.batch_rows or batch.num_rows
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)

    def _finish(self, *, broken: bool) -> None:
        if self._done:
            return
        self._done = True
        statement, self._statement = self._statement, None
        if statement is not None and not statement.abandon():
            broken = True
        if self._connection is not None:
            self._lender.give(self._connection, broken)
        if self._on_end is not None:
            self._on_end(self)

    def _failure(self, error: BaseException) -> BaseException:
        if not isinstance(error, Exception):
            return error
        if self._stopped.is_set():
            return self._cancelled()
        found: RivetError = translate(error, self._endpoint, self._reading.spec.export)
        if (
            isinstance(found, SourceError)
            and found.error_class == "conflict"
            and self._pages is not None
            and self._pages.started
        ):
            # The page was tried again and again, from its last row: the unit from its first would fare no better.
            return SourceError(
                found.message, hint=found.hint, transient=False, sqlstate=found.sqlstate, error_class=found.error_class
            )
        return found

    def _cancelled(self) -> SourceError:
        return SourceError("the read was cancelled", hint="run again", sqlstate="57014", error_class="other")
