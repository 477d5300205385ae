"""The connections that one session shares between its threads, never more than its limit."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rivet_core.builtin.sqlite.connection import LOCK_SECONDS, Connection, open_connection
from rivet_core.errors import SourceError

WAIT_SECONDS = 600.0
"""How long a thread waits for a connection of a session that is at its limit."""


class Pool:
    """At most `limit` connections to one file; an idle one is used again."""

    def __init__(self, path: Path, limit: int = 4) -> None:
        self.path = path
        self._limit = limit
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._opening = 0
        self._in_use = False
        self._closed = False
        self._changed = threading.Condition()

    def limit(self, connections: int) -> None:
        """Change the limit; idle connections above it are closed, busy ones when they come back."""
        with self._changed:
            self._limit = max(0, connections)
            while self._idle and self._held() > self._limit:
                self._idle.pop().close()
            self._changed.notify_all()

    def _held(self) -> int:
        return len(self._idle) + len(self._busy) + self._opening

    def acquire(self, lock_seconds: float = LOCK_SECONDS) -> Connection:
        """Return a connection of one's own that waits this long for locks; see `Connection.wait_for_locks`.

        Raises `SourceError` when the file cannot be opened or no connection comes free.
        """
        connection = self._take(lock_seconds)
        try:
            connection.wait_for_locks(lock_seconds)
        except BaseException:
            self.release(connection, broken=True)
            raise
        return connection

    def _take(self, lock_seconds: float) -> Connection:
        deadline = time.monotonic() + WAIT_SECONDS
        with self._changed:
            while True:
                if self._closed:
                    raise SourceError(f"the session on {self.path} is closed", hint="open a new one", error_class="connection")
                while self._idle:
                    connection = self._idle.pop()
                    if connection.fresh:
                        self._busy.add(connection)
                        return connection
                    self._in_use = True
                    connection.close()
                if self._held() < self._limit:
                    self._opening += 1
                    break
                if not self._changed.wait(deadline - time.monotonic()):
                    raise SourceError(
                        f"no connection to {self.path} came free: {self._limit} are in use",
                        hint="raise the group's max_connections",
                        transient=True,
                        error_class="limit",
                    )
        try:
            connection = open_connection(self.path, lock_seconds, in_use=self._in_use)
        except BaseException:
            with self._changed:
                self._opening -= 1
                self._changed.notify()
            raise
        with self._changed:
            self._opening -= 1
            self._busy.add(connection)
        return connection

    def release(self, connection: Connection, *, broken: bool = False) -> None:
        """Give a connection back; a broken one is closed."""
        try:
            connection.reset()
        except sqlite3.Error:
            broken = True
        with self._changed:
            self._busy.discard(connection)
            if broken or self._closed or self._held() >= self._limit:
                connection.close()
            else:
                self._idle.append(connection)
            self._changed.notify()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection for a block; errors of the driver become `SourceError`."""
        connection = self.acquire()
        try:
            yield connection
        except sqlite3.Error as error:
            raise connection.fault(error) from error
        finally:
            self.release(connection)

    def interrupt(self) -> None:
        """Stop every statement that runs now."""
        with self._changed:
            for connection in self._busy:
                connection.interrupt()

    def close(self) -> None:
        """Stop what runs and close; busy connections close when their user gives them back."""
        with self._changed:
            self._closed = True
            for connection in self._busy:
                connection.interrupt()
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            self._changed.notify_all()
