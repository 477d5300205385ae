"""The connections of one session: two kinds under one cap, reused, waited for, closed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from rivet_core.errors import SourceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Lender:
    """Where connections come from: `take()`, and `give(connection, broken)` once for each that was taken."""

    take: Callable[[], Any]
    give: Callable[[Any, bool], None]


class Pool:
    """Connections by kind, never more than `limit` open at once over all kinds.

    Whoever asks for a kind gets an idle one, else a new one while the cap allows, else the place of an idle one of another
    kind, else waits. `broken` connections are closed instead of kept.
    """

    def __init__(self, openers: dict[str, Callable[[], Any]], limit: int) -> None:
        self._openers = openers
        self._limit = limit
        self._idle: dict[str, list[Any]] = {kind: [] for kind in openers}
        self._open = 0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def cap(self) -> int:
        """How many connections may be open at once."""
        return self._limit

    def limit(self, connections: int) -> None:
        """Set the cap; idle connections above it are closed now, busy ones when they come back."""
        with self._changed:
            self._limit = max(0, connections)
            while self._open > self._limit and self._drop_idle():
                pass
            self._changed.notify_all()

    @contextmanager
    def use(self, kind: str) -> Iterator[Any]:
        """Lend a connection for a block; after an exception it is closed."""
        connection = self.take(kind)
        try:
            yield connection
        except BaseException:
            self.give(kind, connection, broken=True)
            raise
        self.give(kind, connection)

    def take(self, kind: str) -> Any:
        """Return a connection of this kind; waits while the cap is reached. Raises what opening raises."""
        with self._changed:
            while True:
                if self._closed:
                    raise SourceError("the source session is closed", hint="open it again", error_class="connection")
                if self._idle[kind]:
                    return self._idle[kind].pop()
                if self._open < self._limit or self._drop_idle():
                    self._open += 1
                    break
                self._changed.wait()
        try:
            return self._openers[kind]()
        except BaseException:
            with self._changed:
                self._open -= 1
                self._changed.notify()
            raise

    def give(self, kind: str, connection: Any, *, broken: bool = False) -> None:
        """Take a connection back."""
        with self._changed:
            keep = not broken and not self._closed and self._open <= self._limit
            if keep:
                self._idle[kind].append(connection)
            else:
                self._open -= 1
            self._changed.notify()
        if not keep:
            _shut(connection)

    def close(self) -> None:
        """Close what is idle now and the rest when it comes back. Closing twice is fine."""
        with self._changed:
            self._closed = True
            while self._drop_idle():
                pass
            self._changed.notify_all()

    def _drop_idle(self) -> bool:
        for connections in self._idle.values():
            if connections:
                _shut(connections.pop(0))
                self._open -= 1
                return True
        return False


def _shut(connection: Any) -> None:
    with suppress(Exception):
        connection.close()
