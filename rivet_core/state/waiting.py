"""How a transaction of the state waits for others: not for ever, and hardly at all once the campaign is to end."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

BUSY_SECONDS = 30.0
"""How long a write waits for another process's write before it fails."""
LEAST_SECONDS = 1.0
"""How long it waits at least, when others of this process have waited for the same before it."""
HURRY_SECONDS = 3.0
"""How long all writes together still wait once the campaign is to end: whoever takes it up finds what is not recorded."""
SLICE_SECONDS = 0.5

IDLE_SECONDS = 30
"""After so long PostgreSQL ends a transaction of a process that stopped in the middle of it, and lets go of its rows."""
MARGIN_SECONDS = 10.0
"""How much longer a statement waits for rows in PostgreSQL, so that such a transaction ends before."""

LEFT = "rivet_left"
"""Execution option of transactions that write: a function that returns the seconds it may still wait."""


class Patience:
    """How long the writes of one process wait for the state."""

    def __init__(self) -> None:
        self._until = float("inf")
        self._in_vain = False

    def hurry(self) -> None:
        """From now on nothing waits for long: the process was told to end."""
        self._until = min(self._until, time.monotonic() + HURRY_SECONDS)

    def ended(self, *, well: bool) -> None:
        """Remember how the last write ended: after one that waited in vain others wait for moments, until one succeeds."""
        self._in_vain = not well

    def left(self, busy: float | None = None) -> Callable[[], float]:
        """Return a function that says how long a write that is asked for now may still wait, at most `busy` seconds."""
        usual = HURRY_SECONDS if self._in_vain else BUSY_SECONDS
        end = time.monotonic() + (usual if busy is None else busy)
        least = LEAST_SECONDS if busy is None else 0.0
        begun: list[float] = []

        def left() -> float:
            now = time.monotonic()
            if not begun:  # out of the queue of this process
                begun.append(max(end, now + least))
            return max(0.0, min(begun[0], self._until) - now)

        return left


def begin_sqlite(connection: Connection) -> None:
    """Begin a transaction. One that will write takes the write lock at once: upgrading later could fail as busy."""
    left = connection.get_execution_options().get(LEFT)
    if left is None:
        connection.exec_driver_sql("BEGIN")
        return
    while True:
        seconds = left()
        # The connection is pooled: who used it last may have waited less.
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(min(SLICE_SECONDS, seconds) * 1000)}")
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            break
        except OperationalError as error:
            if not str(getattr(error.orig, "sqlite_errorname", "")).startswith("SQLITE_BUSY") or left() <= 0:
                raise
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}")


def begin_postgres(connection: Connection) -> None:
    """Bound what a transaction that writes may wait for, and for how long it may keep others waiting."""
    left = connection.get_execution_options().get(LEFT)
    if left is not None:
        lock, idle = round((left() + MARGIN_SECONDS) * 1000), IDLE_SECONDS * 1000
        connection.exec_driver_sql(
            f"SELECT set_config('lock_timeout', '{lock}', true), "
            f"set_config('idle_in_transaction_session_timeout', '{idle}', true)"
        )
