"""The session's connections: opened when needed, used again, never more than the limit, KILLed from outside when cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rivet_core.errors import SourceError
from rivet_mysql.connection import Link

WAIT_SECONDS = 600.0


class Pool:
    """Connections of one session. A place may be taken without a connection, for a driver that opens its own."""

    def __init__(self, connect: Callable[[], Link], limit: int = 1) -> None:
        self._connect = connect
        self._limit = limit
        self._changed = threading.Condition()
        self._idle: list[Link] = []
        self._busy: set[Link] = set()
        self._places = 0
        self._closed = False

    def limit(self, connections: int) -> None:
        """Hold at most this many from now on; idle ones beyond it are closed."""
        with self._changed:
            self._limit = max(0, connections)
            while self._idle and self._open >= self._limit + 1:
                self._idle.pop().close()
            self._changed.notify_all()

    @property
    def _open(self) -> int:
        return len(self._idle) + len(self._busy) + self._places

    def take(self) -> Link:
        """Return a connection, waiting for one when all are in use."""
        with self._changed:
            self._wait(lambda: bool(self._idle) or self._open < self._limit)
            if self._idle:
                link = self._idle.pop()
                self._busy.add(link)
                return link
            self._places += 1
        try:
            link = self._connect()
        except BaseException:
            self._leave()
            raise
        with self._changed:
            self._places -= 1
            self._busy.add(link)
            closed = self._closed
        if closed:
            self.give(link, broken=True)
            raise SourceError("the session is closed", hint="open it again")
        return link

    def give(self, link: Link, *, broken: bool = False) -> None:
        """Put a connection back, or away when it is broken."""
        with self._changed:
            if link not in self._busy:
                return
            self._busy.discard(link)
            keep = not broken and not self._closed and self._open < self._limit
            if keep:
                self._idle.append(link)
            self._changed.notify_all()
        if broken:
            link.drop()
        elif not keep:
            link.close()

    @contextmanager
    def link(self) -> Iterator[Link]:
        """Lend a connection; one that failed for a reason of its own is not used again."""
        link = self.take()
        try:
            yield link
        except SourceError as error:
            self.give(link, broken=error.error_class in ("connection", "timeout"))
            raise
        except BaseException:
            self.give(link, broken=True)
            raise
        else:
            self.give(link)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Take the place of one connection without opening any."""
        with self._changed:
            self._wait(lambda: bool(self._idle) or self._open < self._limit)
            if self._open >= self._limit:
                self._idle.pop().close()
            self._places += 1
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._changed:
            self._places -= 1
            self._changed.notify_all()

    def _wait(self, ready: Callable[[], bool]) -> None:
        if not self._changed.wait_for(lambda: self._closed or ready(), timeout=WAIT_SECONDS):
            raise SourceError(
                f"no free connection within {WAIT_SECONDS:.0f} s",
                hint="raise the group's max_connections",
                transient=True,
                error_class="limit",
            )
        if self._closed:
            raise SourceError("the session is closed", hint="open it again")

    def threads(self) -> list[int]:
        """Return the server's ids of the connections in use."""
        with self._changed:
            return [link.thread for link in self._busy]

    def close(self) -> None:
        """Close what is idle now, and what is in use as soon as it comes back. Closing twice is fine."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            self._changed.notify_all()
        for link in idle:
            link.close()
