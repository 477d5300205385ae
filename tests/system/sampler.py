"""Looks at the sessions of a role while something runs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from rivet_core.testing.postgres_database import PostgresDatabase

LASTING = 6


class Sampler:
    """Counts the sessions of a role over and over; `peak` is the most ever seen in `LASTING` samples one after the other,
    `highest` in a single one.

    A server shows a session that the client has closed until its process has ended, which takes a moment on a busy machine.
    """

    def __init__(self, postgres: PostgresDatabase, role: str) -> None:
        self.peak = 0
        self.highest = 0
        self.samples = 0
        self._last: deque[int] = deque(maxlen=LASTING)
        self._postgres = postgres
        self._role = role
        self._over = threading.Event()

    def sample(self) -> None:
        query = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s AND state IS NOT NULL"
        with self._postgres.connect(admin=True) as connection:
            while not self._over.wait(0.005):
                found = connection.execute(query, [self._role]).fetchone()
                assert found is not None
                self._last.append(found[0])
                self.highest = max(self.highest, found[0])
                self.samples += 1
                if len(self._last) == LASTING:
                    self.peak = max(self.peak, min(self._last))

    @classmethod
    @contextmanager
    def watching(cls, postgres: PostgresDatabase, role: str) -> Iterator[Sampler]:
        sampler = cls(postgres, role)
        thread = threading.Thread(target=sampler.sample)
        thread.start()
        try:
            yield sampler
        finally:
            sampler._over.set()
            thread.join()
