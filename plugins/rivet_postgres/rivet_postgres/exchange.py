"""Statements below psycopg's cursors: sent as they are, one result after another, waited for so that Ctrl-C gets through."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

_POLL_MS = 100


class Exchange:
    """The conversation of one connection. Errors are psycopg's, with SQLSTATE. Nothing else may use it meanwhile."""

    def __init__(self, connection: PGconn) -> None:
        self._connection = connection
        self.deadline: float | None = None
        """When to stop waiting, by `time.monotonic()`; another thread may set it."""

    def ask(self, send: Callable[[PGconn], None]) -> PGresult:
        """Send one statement and return its result when it is the only one. Raises what the server says against it."""
        send(self._connection)
        result = self.result()
        assert result is not None  # noqa: S101 - every statement has one
        self.finish()
        return result

    def describe(self, sql: str) -> PGresult:
        """Return what a statement would give, which is parsed for it and not run."""
        self.ask(lambda connection: connection.send_prepare(b"", sql.encode()))
        return self.ask(lambda connection: connection.send_describe_prepared(b""))

    def result(self) -> PGresult | None:
        """Return the next result, `None` after the last. Raises the server's error, once the conversation is ready again."""
        from psycopg import errors, pq

        self._wait()
        found = self._connection.get_result()
        if found is not None and found.status == pq.ExecStatus.FATAL_ERROR:
            with suppress(errors.Error):  # a server that ends a session says why and is gone
                self.finish()
            raise errors.error_from_result(found)
        return found

    def finish(self) -> None:
        """Take the results that remain, and drop the rows of a COPY, so that the next statement can be sent."""
        from psycopg import pq

        while (found := self.result()) is not None:
            while found.status == pq.ExecStatus.COPY_OUT and (size := self._connection.get_copy_data(1)[0]) != -1:
                if size == 0:
                    self._receive()

    def _wait(self) -> None:
        from psycopg import OperationalError

        while self._connection.is_busy():
            try:
                self._receive()
            except OperationalError:
                if self._connection.is_busy():  # else its last words came along
                    raise

    def _receive(self) -> None:
        """Send what is still to be sent, and take what comes within a moment."""
        from psycopg import OperationalError

        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OperationalError("the server does not answer")
        watched = select.poll()
        watched.register(self._connection.socket, select.POLLIN | (select.POLLOUT if self._connection.flush() else 0))
        watched.poll(_POLL_MS)
        self._connection.consume_input()  # also after a wait in vain: under TLS the socket does not know of every byte
