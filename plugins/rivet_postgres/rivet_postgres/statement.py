"""One statement in one short read-only transaction: what every engine does with it, and what is set for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from rivet_core.errors import SourceError
from rivet_core.facts import ReadSpec
from rivet_postgres.columns import ColumnPlan
from rivet_postgres.dialect import POSTGRES

IN_KEY_ORDER: Mapping[str, str] = {
    # A page has to come off the key's index row by row: anything else reads and sorts the whole table for each page.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_sort": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


OPENS, GOES_ON = "opens", "goes on"
"""Instead of the name of an exported snapshot: the unit opens the one transaction that all units of its export share, or goes
on in it. Such a transaction stays open at `end`, and does not survive `abandon`."""
KEPT: Mapping[str, str] = {"idle_in_transaction_session_timeout": "0"}
PROOF = "SET LOCAL timezone = 'UTC'"
"""Sent behind the rows where no COMMIT may be: that the server answers it proves that the rows ended."""


class Statement(Protocol):
    """The statement of a unit, or of a page of it. Errors are the driver's own: the stream translates them."""

    standby: bool
    """Whether the server replays another's changes; known once the transaction has begun."""

    @property
    def outside(self) -> Sequence[int]:
        """Values of the last batch, by column, that the engine has made NULL because the output type cannot keep them.

        Empty for an engine that leaves it to the checks of `values`.
        """

    def begin(self, *, snapshot: str = "", settings: Mapping[str, str] | None = None) -> None:
        """Begin the transaction. `settings` hold for it besides those of every read; `snapshot` is an exported one's name, or
        `OPENS` or `GOES_ON`.
        """

    def row(self, sql: str) -> tuple[Any, ...] | None:
        """Return the first row of a small statement before the rows are asked for."""

    def select(self, sql: str) -> None:
        """Ask for the rows. Raises `SourceError` when a column is no longer what it was planned to be."""

    def next(self) -> pa.RecordBatch | None:
        """Return the next batch, `None` after the last."""

    def end(self) -> None:
        """End the transaction: a COMMIT that the server answers proves that the rows ended and were not cut off."""

    def abandon(self) -> bool:
        """Cancel, and end the transaction. Returns whether the connection can be used again."""

    def cancel(self) -> None:
        """Cancel the statement at the server, from any thread."""


def changed(plan: ColumnPlan, arrives: str) -> SourceError:
    """Return the refusal of a column that is no longer what it was when it was described."""
    return SourceError(
        f"the column {plan.name} arrives as {arrives}, not as {plan.arrives}: the table changed meanwhile",
        hint="plan again",
        error_class="data",
    )


def settings_sql(spec: ReadSpec, more: Mapping[str, str]) -> str:
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
        "array_nulls": "on",
        "quote_all_identifiers": "off",
        "application_name": application_name(spec.export),
        **more,
    }
    calls = (f"set_config({POSTGRES.string(name)}, {POSTGRES.string(value)}, true)" for name, value in values.items())
    return f"SELECT {', '.join(calls)}, pg_is_in_recovery()"


def application_name(export: str) -> str:
    """Return `rivet/<export>` as the server keeps it: printable ASCII, at most 63 bytes."""
    return f"rivet/{export}".encode("ascii", "replace").decode()[:63]
