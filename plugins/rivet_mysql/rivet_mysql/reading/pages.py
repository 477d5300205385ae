"""How many rows the next page asks for: toward the profile's seconds, within the bytes that may wait in memory."""

from __future__ import annotations

from rivet_core.facts import Tuning

FIRST_ROWS = 500
FIRST_ROWS_LONG = 4
GROWTH = 400
GROWTH_LONG = 8
"""The most that one page may be larger than the one before. With long values the last page says little about the next."""
MOST_ROWS = 4_000_000
FULL_PAGES = 1.5
"""A page may hold so many times the bytes that it aims at."""


class Pacer:
    """Sizes the pages of one unit. `long` says that a single value may be many megabytes."""

    def __init__(self, tuning: Tuning, *, long: bool) -> None:
        self._tuning = tuning
        self._growth = GROWTH_LONG if long else GROWTH
        self.rows = FIRST_ROWS_LONG if long else FIRST_ROWS
        self._first = True

    def learn(self, *, rows: int, size: int, seconds: float) -> None:
        """Take in what the last page was: rows, bytes and the seconds that the server and the driver took."""
        if rows == 0:
            return
        by_bytes = self._tuning.batch_bytes * rows // max(1, size)
        # A first page is mostly round trips: its seconds say nothing about rows.
        by_time = MOST_ROWS if self._first else int(self._tuning.page_seconds * rows / max(seconds, 1e-6))
        self._first = False
        self.rows = max(1, min(by_bytes, by_time, self.rows * self._growth, MOST_ROWS))

    def fits(self, rows: int, size: int) -> int:
        """Return how many rows to ask for instead of `rows` that hold `size` bytes: all of them when they may wait here."""
        if size <= FULL_PAGES * self._tuning.batch_bytes or rows <= 1:
            return rows
        return max(1, min(rows // 2, self._tuning.batch_bytes * rows // size))

    def pause(self, seconds: float) -> float:
        """Return how long to leave the server alone after a page of `seconds`."""
        return seconds * self._tuning.pause_share + self._tuning.pause_seconds
