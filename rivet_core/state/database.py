"""Transactions on the state database, safe for several threads and several processes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Engine, Table, delete, insert
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from rivet_core.errors import InternalError, RivetError
from rivet_core.state.damage import damage
from rivet_core.state.waiting import LEFT, Patience


class Database:
    """Short transactions over an engine. Writers of one process queue here instead of in the database's busy loop."""

    def __init__(self, engine: Engine, *, read_only: bool) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self.patience = Patience()
        self.read_only = read_only

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        try:
            if self.read_only and self._engine.dialect.name == "sqlite":
                with self._lock, self._engine.connect() as connection:  # One in-memory connection for all threads.
                    yield connection
            else:
                with self._engine.connect() as connection:
                    yield connection
        except (SQLAlchemyError, ValueError) as error:
            raise self._failed("read", error) from error

    @contextlib.contextmanager
    def writing(self, *, busy: float | None = None) -> Iterator[Connection]:
        """A transaction that writes: all of it or nothing.

        With `busy` it waits that many seconds for SQLite's write lock instead of the usual time, and does not queue.
        """
        if self.read_only:
            raise InternalError("the state was opened for reading only", hint="this is a bug: please report it")
        try:
            # One shared connection takes one transaction at a time, however short.
            queue = self._lock if busy is None or isinstance(self._engine.pool, StaticPool) else contextlib.nullcontext()
            options: dict[str, Any] = {LEFT: self.patience.left(busy)}
            with queue, self._engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
            if busy is None:
                self.patience.ended(well=True)
        except SQLAlchemyError as error:
            if busy is None and isinstance(error, OperationalError):
                self.patience.ended(well=False)
            raise self._failed("write", error) from error

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def _failed(self, what: str, error: Exception) -> RivetError:
        found = damage(error, f"cannot {what} the state", engine=self._engine.dialect.name)
        if found is not None:
            return found
        cause = getattr(error, "orig", None) or error
        detail = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
        return RivetError(
            f"cannot {what} the state: {detail}",
            hint="check the disk and the rights of the state database, then run with --resume",
            code="state_failed",
        )


def put(connection: Connection, target: Table, **values: Any) -> None:
    """Insert a row, replacing the one with the same primary key. Portable: a delete and an insert in one transaction."""
    connection.execute(delete(target).where(*(column == values[column.name] for column in target.primary_key)))
    connection.execute(insert(target).values(**values))
