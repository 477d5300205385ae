"""The rows of one unit, streamed: one statement in one short read-only transaction, checked to its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rivet_core.errors import SourceError
from rivet_core.facts import Mark, ReadSpec, TypeKind, Unit, UnitKind
from rivet_core.sql.endpoint import Endpoint
from rivet_core.sql.marks import mark_of, order_key, shift
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.failures import translate
from rivet_postgres.relation import Selection
from rivet_postgres.values import Converter

BATCH_OPTION = "adbc.postgresql.batch_size_hint_bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is read: the unit, its statement and its columns, the exported snapshot if any, and the kind of the cursor.

    `count_sql` counts rows that are left out on purpose; the number is reported as `count_name`.
    """

    spec: ReadSpec
    unit: Unit
    sql: str
    selection: Selection
    snapshot: str = ""
    count_sql: str = ""
    count_name: str = ""
    cursor_kind: TypeKind | None = None


class PostgresStream:
    """A `RecordStream` over one ADBC connection, which goes back when the rows end, or when it is closed.

    `give_back(connection, broken)` is called exactly once. Everything that touches the connection holds one lock; only
    `cancel` does not wait for it.
    """

    def __init__(self, reading: Reading, connection: Any, endpoint: Endpoint, give_back: Callable[[Any, bool], None]) -> None:
        self._reading = reading
        self._endpoint = endpoint
        self._connection = connection
        self._give_back = give_back
        self._lock = threading.RLock()
        self._done = False
        self._on_end: Callable[[PostgresStream], None] | None = None
        self._stopped = False
        self._skipped = 0
        self._last: list[Mark] | None = None
        selection = reading.selection
        self._converters = [Converter(plan, reading.spec.out_of_range or "fail") for plan in selection.plans]
        self.schema = pa.schema([plan.field for plan in selection.plans[: selection.visible]])
        self._cursor: Any = None
        self._reader: Any = None
        try:
            self._start()
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

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while (batch := self._next()) is not None:
                if batch.num_rows:
                    yield from self._bounded(batch)
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
        self._stopped = True
        with suppress(Exception):
            self._cursor.adbc_cancel()

    def close(self) -> None:
        """Stop, cancel at the server and give the connection back. Closing twice is fine."""
        if self._done:
            return
        self.cancel()
        with self._lock:
            self._finish(broken=False)

    def _start(self) -> None:
        from adbc_driver_manager._reader import AdbcRecordBatchReader

        tuning = self._reading.spec.tuning
        # Autocommit off: ADBC begins with the first statement, and ends with COMMIT when it is set on again.
        self._connection.adbc_connection.set_autocommit(False)
        self._cursor = self._connection.cursor(adbc_stmt_kwargs={BATCH_OPTION: str(max(1 << 16, tuning.batch_bytes))})
        if self._reading.snapshot:
            self._cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            self._cursor.execute(f"SET TRANSACTION SNAPSHOT {POSTGRES.string(self._reading.snapshot)}")
        self._cursor.execute(_settings(self._reading.spec))
        self._cursor.fetchall()
        if self._reading.count_sql:
            self._cursor.execute(self._reading.count_sql)
            self._skipped = int(self._cursor.fetchone()[0])
        self._cursor.execute(self._reading.sql)
        # This reader keeps the server's SQLSTATE when the stream breaks in the middle; pyarrow's own does not.
        handle = self._cursor.fetch_arrow()
        self._reader = AdbcRecordBatchReader._import_from_c(handle.address)
        self._check_schema(self._reader.schema)

    def _check_schema(self, schema: pa.Schema) -> None:
        for field, plan in zip(schema, self._reading.selection.plans, strict=True):
            if field.name != plan.name or not field.type.equals(plan.arrives):
                raise SourceError(
                    f"the column {plan.name} arrives as {field.type}, not as {plan.arrives}: the table changed meanwhile",
                    hint="plan again",
                    error_class="data",
                )

    def _next(self) -> pa.RecordBatch | None:
        with self._lock:
            if self._done:
                if self._stopped:
                    raise SourceError("the read was cancelled", hint="run again", error_class="other")
                return None
            try:
                batch = self._reader.read_next_batch()
                return self._convert(batch)
            except StopIteration:
                self._end()
                return None
            except BaseException as error:  # noqa: BLE001 - Ctrl-C too must give the connection back
                failure = self._failure(error)
                self.cancel()
                self._finish(broken=True)
                raise failure from None

    def _end(self) -> None:
        """End the transaction: a COMMIT that the server answers proves that the rows ended and were not cut off."""
        try:
            self._reader.close()
            self._cursor.close()
            self._connection.adbc_connection.set_autocommit(True)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C too must give the connection back
            self._finish(broken=True)
            raise self._failure(error) from None
        self._finish(broken=False)

    def _convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._refuse_nulls(batch)
        arrays = [one.convert(array) for one, array in zip(self._converters, batch.columns, strict=True)]
        selection = self._reading.selection
        if selection.marks and (row := _last_marked([arrays[at] for _, _, at in selection.marks])) is not None:
            found = [mark_of(name, source_type, arrays[at][row]) for name, source_type, at in selection.marks]
            self._last = [mark for mark in found if mark is not None]
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
        for part in (self._reader, self._cursor):
            if part is not None:
                with suppress(Exception):
                    part.close()
        if not broken:
            try:
                self._connection.adbc_connection.set_autocommit(True)
            except Exception:  # noqa: BLE001 - whatever it is, this connection is not used again
                broken = True
        self._give_back(self._connection, broken)
        if self._on_end is not None:
            self._on_end(self)

    def _failure(self, error: BaseException) -> BaseException:
        if not isinstance(error, Exception):
            return error
        if self._stopped:
            return SourceError("the read was cancelled", hint="run again", sqlstate="57014", error_class="other")
        return translate(error, self._endpoint, self._reading.spec.export)


def _last_marked(arrays: list[pa.Array]) -> int | None:
    """Return the last row whose marks are all set; a policy may have emptied those behind it (infinities sort last)."""
    valid = arrays[0].is_valid()
    for array in arrays[1:]:
        valid = pc.and_(valid, array.is_valid())
    length = len(valid)
    if length and valid[-1].as_py():
        return length - 1
    return next((row for row in range(length - 1, -1, -1) if valid[row].as_py()), None)


def _settings(spec: ReadSpec) -> str:
    """Return one SELECT that sets everything for this transaction alone."""
    tuning = spec.tuning
    values = {
        "transaction_read_only": "on",
        "statement_timeout": str(round(tuning.statement_timeout_seconds * 1000)),
        "lock_timeout": str(round(tuning.lock_timeout_seconds * 1000)),
        "timezone": "UTC",
        "datestyle": "ISO, YMD",
        "intervalstyle": "iso_8601",
        "extra_float_digits": "1",
        "bytea_output": "hex",
        "application_name": application_name(spec.export),
    }
    calls = (f"set_config({POSTGRES.string(name)}, {POSTGRES.string(value)}, true)" for name, value in values.items())
    return f"SELECT {', '.join(calls)}"


def application_name(export: str) -> str:
    """Return `rivet/<export>` as the server keeps it: printable ASCII, at most 63 bytes."""
    return f"rivet/{export}".encode("ascii", "replace").decode()[:63]
