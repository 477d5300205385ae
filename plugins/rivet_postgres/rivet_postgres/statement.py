"""One statement in one short read-only transaction of an ADBC connection: begun, streamed, and ended by a COMMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from rivet_core.errors import SourceError
from rivet_core.facts import ReadSpec
from rivet_postgres.columns import ColumnPlan
from rivet_postgres.dialect import POSTGRES

BATCH_OPTION = "adbc.postgresql.batch_size_hint_bytes"
IN_KEY_ORDER: Mapping[str, str] = {
    # A page has to come off the key's index row by row: anything else reads and sorts the whole table for each page.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_sort": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


class Statement:
    """The statement of a unit, or of a page of it. Errors are the driver's own: the stream translates them."""

    def __init__(self, connection: Any, spec: ReadSpec, plans: Sequence[ColumnPlan]) -> None:
        self.connection = connection
        self._spec = spec
        self._plans = plans
        self._cursor: Any = None
        self._reader: Any = None
        self.standby = False
        """Whether the server replays another's changes; known once the transaction has begun."""

    def begin(self, *, snapshot: str = "", settings: Mapping[str, str] | None = None) -> None:
        """Begin the transaction. `settings` hold for it besides those of every read."""
        # Autocommit off: ADBC begins with the first statement, and ends with COMMIT when it is set on again.
        self.connection.adbc_connection.set_autocommit(False)
        hint = max(1 << 16, self._spec.tuning.batch_bytes)
        self._cursor = self.connection.cursor(adbc_stmt_kwargs={BATCH_OPTION: str(hint)})
        if snapshot:
            self._cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            self._cursor.execute(f"SET TRANSACTION SNAPSHOT {POSTGRES.string(snapshot)}")
        self._cursor.execute(_settings(self._spec, settings or {}))
        self.standby = bool(self._cursor.fetchall()[0][-1])

    def row(self, sql: str) -> tuple[Any, ...] | None:
        """Return the first row of a small statement before the rows are asked for."""
        self._cursor.execute(sql)
        found = self._cursor.fetchone()
        return None if found is None else tuple(found)

    def select(self, sql: str) -> None:
        """Ask for the rows. Raises `SourceError` when a column is no longer what it was planned to be."""
        from adbc_driver_manager._reader import AdbcRecordBatchReader

        self._cursor.execute(sql)
        # This reader keeps the server's SQLSTATE when the stream breaks in the middle; pyarrow's own does not.
        handle = self._cursor.fetch_arrow()
        self._reader = AdbcRecordBatchReader._import_from_c(handle.address)
        for field, plan in zip(self._reader.schema, self._plans, strict=True):
            if field.name != plan.name or not field.type.equals(plan.arrives):
                raise SourceError(
                    f"the column {plan.name} arrives as {field.type}, not as {plan.arrives}: the table changed meanwhile",
                    hint="plan again",
                    error_class="data",
                )

    def next(self) -> pa.RecordBatch | None:
        """Return the next batch, `None` after the last."""
        try:
            return self._reader.read_next_batch()
        except StopIteration:
            return None

    def end(self) -> None:
        """End the transaction: a COMMIT that the server answers proves that the rows ended and were not cut off."""
        self._reader.close()
        self._cursor.close()
        self.connection.adbc_connection.set_autocommit(True)

    def abandon(self) -> bool:
        """Cancel, and end the transaction. Returns whether the connection can be used again."""
        self.cancel()
        for part in (self._reader, self._cursor):
            if part is not None:
                with suppress(Exception):
                    part.close()
        try:
            self.connection.adbc_connection.set_autocommit(True)
        except Exception:  # noqa: BLE001 - whatever it is, this connection is not used again
            return False
        return True

    def cancel(self) -> None:
        """Cancel the statement at the server, from any thread."""
        with suppress(Exception):
            self._cursor.adbc_cancel()


def _settings(spec: ReadSpec, more: Mapping[str, str]) -> str:
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
        **more,
    }
    calls = (f"set_config({POSTGRES.string(name)}, {POSTGRES.string(value)}, true)" for name, value in values.items())
    return f"SELECT {', '.join(calls)}, pg_is_in_recovery()"


def application_name(export: str) -> str:
    """Return `rivet/<export>` as the server keeps it: printable ASCII, at most 63 bytes."""
    return f"rivet/{export}".encode("ascii", "replace").decode()[:63]
