"""`snapshot: consistent`: one exported snapshot that all units of an export read, whichever connection reads them."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from rivet_core.errors import ConfigError, SourceError
from rivet_postgres.pool import Pool
from rivet_postgres.statement import application_name


class Snapshots:
    """The exported snapshots of a session, one per export.

    Each holds a connection idle in transaction until `end` or `close`: the declared cost of a consistent read (it holds back
    vacuum, and one place of the pool). It dies with its connection, so a resumed run starts from the first unit.
    """

    def __init__(self, pool: Pool, kind: str) -> None:
        self._pool = pool
        self._kind = kind
        self._held: dict[str, tuple[Any, str]] = {}
        self._lock = threading.Lock()

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
                raise SourceError(
                    f"{export}: the connection that held the snapshot was cut off",
                    hint="run again: a consistent export starts from its first unit",
                    error_class="connection",
                )
            return name

    def end(self, export: str) -> None:
        """Let the snapshot of an export go, when all its units are read."""
        with self._lock:
            held = self._held.pop(export, None)
        if held is not None:
            self._release(held[0])

    def close(self) -> None:
        """Let all go."""
        for export in list(self._held):
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
        broken = True
        with suppress(Exception):
            connection.execute("ROLLBACK")
            broken = False
        self._pool.give(self._kind, connection, broken=broken)
