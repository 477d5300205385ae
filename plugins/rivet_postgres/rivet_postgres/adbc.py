"""A statement through ADBC: the driver's own COPY, decoded by it, over a connection of its own kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from rivet_core.errors import SourceError
from rivet_core.facts import ReadSpec
from rivet_postgres.columns import ColumnPlan
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.statement import GOES_ON, KEPT, OPENS, PROOF, changed, settings_sql

BATCH_OPTION = "adbc.postgresql.batch_size_hint_bytes"


class AdbcStatement:
    """A `Statement` of an ADBC connection. Nothing is checked on the way: that is done to the batches that arrive."""

    outside: Sequence[int] = ()

    def __init__(self, connection: Any, spec: ReadSpec, plans: Sequence[ColumnPlan]) -> None:
        self.connection = connection
        self._spec = spec
        self._plans = plans
        self._cursor: Any = None
        self._reader: Any = None
        self._kept = False
        self.standby = False
        """Whether the server replays another's changes; known once the transaction has begun."""

    def begin(self, *, snapshot: str = "", settings: Mapping[str, str] | None = None) -> None:
        """Begin the transaction. `settings` hold for it besides those of every read."""
        self._kept = snapshot in (OPENS, GOES_ON)
        if snapshot != GOES_ON:
            # Autocommit off: ADBC begins with the first statement, and ends with COMMIT when it is set on again.
            self.connection.adbc_connection.set_autocommit(False)
        hint = max(1 << 16, self._spec.tuning.batch_bytes)
        self._cursor = self.connection.cursor(adbc_stmt_kwargs={BATCH_OPTION: str(hint)})
        if snapshot and snapshot != GOES_ON:
            self._cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        if snapshot and not self._kept:
            self._cursor.execute(f"SET TRANSACTION SNAPSHOT {POSTGRES.string(snapshot)}")
        self._cursor.execute(settings_sql(self._spec, {**(settings or {}), **(KEPT if self._kept else {})}))
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
                raise self._no_types() or changed(plan, str(field.type))

    def _no_types(self) -> SourceError | None:
        """Return why ADBC knew none of the server's types: it asked for their names before anything could be set."""
        self._reader.close()
        settings = "SELECT 1 FROM pg_catalog.pg_settings WHERE name = 'quote_all_identifiers' AND reset_val = 'on'"
        if self.row(settings) is None:
            return None
        return SourceError(
            "ADBC knows no types of a server that quotes all identifiers (quote_all_identifiers is on)",
            hint="ALTER ROLE ... SET quote_all_identifiers = off, or pip install rivet-pgcopy",
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
        if self._kept:
            self._cursor.execute(PROOF)
        self._cursor.close()
        if not self._kept:
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
        return not self._kept

    def cancel(self) -> None:
        """Cancel the statement at the server, from any thread."""
        with suppress(Exception):
            self._cursor.adbc_cancel()
