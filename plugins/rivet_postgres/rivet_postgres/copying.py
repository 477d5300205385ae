"""A statement through rivet-pgcopy: COPY in binary over psycopg's connection, decoded in C."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from psycopg import Error, OperationalError, postgres, pq

from rivet_core.errors import SourceError
from rivet_core.facts import ReadSpec
from rivet_pgcopy import CopyReader, DecodeError, Field, field_of
from rivet_postgres.columns import ColumnPlan
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.exchange import Exchange
from rivet_postgres.failures import dimensions_error
from rivet_postgres.statement import GOES_ON, KEPT, OPENS, PROOF, changed, settings_sql

if TYPE_CHECKING:
    from psycopg import Connection

SECONDS_TO_ABANDON = 10.0
"""How long a cancelled statement may take to end; after that its connection is closed instead of kept."""


class CopyStatement:
    """A `Statement` of a psycopg connection. The decoder makes NULL of what the output type cannot keep, and counts it."""

    def __init__(self, connection: Connection[Any], spec: ReadSpec, plans: Sequence[ColumnPlan]) -> None:
        self.connection = connection
        self._spec = spec
        self._plans = plans
        self._exchange = Exchange(connection.pgconn)
        self._reader: CopyReader | None = None
        self._kept = False
        self.standby = False
        """Whether the server replays another's changes; known once the transaction has begun."""

    @property
    def outside(self) -> Sequence[int]:
        """Values of the last batch, by column, that became NULL because the output type cannot keep them."""
        return self._reader.outside if self._reader is not None else ()

    def begin(self, *, snapshot: str = "", settings: Mapping[str, str] | None = None) -> None:
        """Begin the transaction. `settings` hold for it besides those of every read."""
        self._kept = snapshot in (OPENS, GOES_ON)
        statements = []
        if snapshot != GOES_ON:
            statements.append("BEGIN READ ONLY" if not snapshot else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if snapshot and not self._kept:
            statements.append(f"SET TRANSACTION SNAPSHOT {POSTGRES.string(snapshot)}")
        statements.append(settings_sql(self._spec, {**(settings or {}), **(KEPT if self._kept else {})}))
        # All at once: a page is short, and the way to the server may be long.
        cursor = self.connection.execute("; ".join(statements).encode())
        while cursor.nextset():
            pass
        row = cursor.fetchone()
        self.standby = bool(row and row[-1])

    def row(self, sql: str) -> tuple[Any, ...] | None:
        """Return the first row of a small statement before the rows are asked for."""
        return self.connection.execute(sql.encode()).fetchone()

    def select(self, sql: str) -> None:
        """Ask for the rows. Raises `SourceError` when a column is no longer what it was planned to be."""
        fields = self._fields(sql)
        schema = pa.schema([(plan.name, plan.arrives) for plan in self._plans])
        copy = f"COPY (\n{sql}\n) TO STDOUT (FORMAT binary)".encode()
        # With parameters, even none, the server takes one statement and no more.
        self.connection.pgconn.send_query_params(copy, None)
        result = self._exchange.result()
        if result is None or result.status != pq.ExecStatus.COPY_OUT:
            raise OperationalError("the server answered COPY with something else")
        pgconn: Any = self.connection.pgconn
        self._reader = CopyReader(pgconn, schema, fields, max(1 << 16, self._spec.tuning.batch_bytes))

    def next(self) -> pa.RecordBatch | None:
        """Return the next batch, `None` after the last."""
        assert self._reader is not None  # noqa: S101 - `select` was called
        try:
            batch = self._reader.next()
        except DecodeError as error:
            raise self._refusal(*error.args) from None
        except ConnectionError as error:
            raise OperationalError(str(error)) from None
        if batch is None:
            self._exchange.finish()
            if not self._reader.whole:
                raise SourceError(
                    "the rows ended before their end was sent",
                    hint="the same run can be resumed",
                    transient=True,
                    error_class="connection",
                )
        return batch

    def end(self) -> None:
        """End the transaction: a COMMIT that the server answers proves that the rows ended and were not cut off."""
        self._reader = None
        self.connection.execute(PROOF if self._kept else b"COMMIT")

    def abandon(self) -> bool:
        """Cancel, and end the transaction. Returns whether the connection can be used again."""
        self._reader = None
        try:
            if self.connection.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                self.cancel()
                with suppress(Error):  # the cancel itself; a connection that is broken or busy fails the ROLLBACK too
                    self._exchange.finish()
            self._exchange.ask(lambda connection: connection.send_query(b"ROLLBACK"))
        except Exception:  # noqa: BLE001 - whatever it is, this connection is not used again
            return False
        return not self._kept

    def cancel(self) -> None:
        """Cancel the statement at the server, from any thread; whoever waits for a server that is out of reach gives up."""
        deadline = time.monotonic() + SECONDS_TO_ABANDON
        self._exchange.deadline = deadline
        if (reader := self._reader) is not None:
            reader.deadline = deadline
        with suppress(Exception):
            self.connection.cancel_safe(timeout=SECONDS_TO_ABANDON)

    def _fields(self, sql: str) -> list[Field]:
        """Ask what the statement gives, which COPY does not say; from here to the end of the transaction it stays so."""
        described = self._exchange.describe(sql)
        fields = []
        for at, plan in enumerate(self._plans):
            oid = described.ftype(at)
            field = field_of(oid, plan.arrives)
            if field is None or described.fname(at) != plan.name.encode():
                known = postgres.types.get(oid)
                raise changed(plan, known.name if known is not None else f"type {oid}")
            fields.append(field)
        return fields

    def _refusal(self, column: int, reason: str, detail: str) -> SourceError:
        if column < 0:
            return SourceError(
                f"the server's rows cannot be read: {reason}",
                hint="set `engine: adbc` for the source, and report it",
                error_class="other",
            )
        plan = self._plans[column]
        if detail:
            return dimensions_error(plan.name, detail)
        return SourceError(
            f"the column {plan.name} ({plan.source_type}) does not fit {plan.arrow}: {reason}",
            hint="choose a wider type under `columns:`, or `text`",
            error_class="data",
        )
