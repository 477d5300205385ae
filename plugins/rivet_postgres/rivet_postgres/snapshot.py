"""`snapshot: consistent`: one moment that all units of an export see.

Where several units are read at once, a connection of its own exports a snapshot to the others. Where they are read one after
the other, they share one transaction of one connection.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from rivet_core.errors import ConfigError, SourceError
from rivet_postgres.pool import Lender, Pool
from rivet_postgres.statement import GOES_ON, OPENS, application_name


class Snapshots:
    """The snapshots of a session, one per export.

    Each holds a connection in a transaction until `end` or `close`: the declared cost of a consistent read (it holds back
    vacuum, and one place of the pool). It dies with its connection, so a resumed run starts from the first unit.
    """

    def __init__(self, pool: Pool, kind: str, reader: str) -> None:
        self._pool = pool
        self._kind = kind
        self._reader = reader
        self._held: dict[str, tuple[Any, str]] = {}
        self._shared: dict[str, Any] = {}
        self._lock = threading.Lock()

    def state_of(self, export: str) -> str:
        """Return whether the next unit opens the transaction that an export's units share, or goes on in it."""
        return GOES_ON if export in self._shared else OPENS

    def lender(self, export: str) -> Lender:
        """Return what lends the connection that the units of an export share.

        `take` raises `SourceError` when it was cut off, and with it the snapshot.
        """
        return Lender(take=lambda: self._take(export), give=lambda connection, broken: self._give(export, connection, broken))

    def _take(self, export: str) -> Any:
        if export not in self._shared:
            self._shared[export] = self._pool.take(self._reader)
        if self._shared[export] is None:
            raise _cut_off(export)
        return self._shared[export]

    def _give(self, export: str, connection: Any, broken: bool) -> None:
        """Keep the connection for the next unit, or remember that it was lost."""
        if broken:
            self._shared[export] = None
            self._pool.give(self._reader, connection, broken=True)

    def of(self, export: str) -> str:
        """Return the snapshot's name for `SET TRANSACTION SNAPSHOT`, exporting it on first use.

        Raises `ConfigError` where the pool has no place for a second connection, `SourceError` when the exporter was cut off.
        """
        with self._lock:
            if export not in self._held:
                if self._pool.cap < 2:
                    raise ConfigError(
                        f"{export}: a consistent snapshot needs a second connection",
                        hint="raise max_connections of the group to 2",
                    )
                self._held[export] = self._export(export)
            connection, name = self._held[export]
            if connection.closed:
                raise _cut_off(export)
            return name

    def end(self, export: str) -> None:
        """Let the snapshot of an export go, when all its units are read."""
        with self._lock:
            held, shared = self._held.pop(export, None), self._shared.pop(export, None)
        if held is not None:
            self._release(held[0])
        if shared is not None:
            self._pool.give(self._reader, shared, broken=not _over(shared))

    def close(self) -> None:
        """Let all go."""
        for export in [*self._held, *self._shared]:
            self.end(export)

    def _export(self, export: str) -> tuple[Any, str]:
        connection = self._pool.take(self._kind)
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(
                "SELECT set_config('application_name', %s, true), set_config('idle_in_transaction_session_timeout', '0', true)",
                [application_name(f"{export}/snapshot")],
            )
            row = connection.execute("SELECT pg_export_snapshot()").fetchone()
            return connection, str(row[0])
        except BaseException:
            self._pool.give(self._kind, connection, broken=True)
            raise

    def _release(self, connection: Any) -> None:
        self._pool.give(self._kind, connection, broken=not _over(connection))


def _over(connection: Any) -> bool:
    """End the transaction of a connection, of either driver; return whether it can be used again."""
    with suppress(Exception):
        if hasattr(connection, "adbc_connection"):
            connection.adbc_connection.set_autocommit(True)
        else:
            connection.execute("ROLLBACK")
        return True
    return False


def _cut_off(export: str) -> SourceError:
    return SourceError(
        f"{export}: the connection that held the snapshot was cut off",
        hint="run again: a consistent export starts from its first unit",
        error_class="connection",
    )
