"""How many rows the next page of a unit may have: the size follows the profile's seconds, and halves on a conflict.

Pure: the reader of an engine measures, this decides. A page is one statement in one short transaction.
"""

from __future__ import annotations

from rivet_core.facts import Tuning

FIRST_ROWS_PER_SECOND = 200_000
"""The first page is sized as if this many rows came in a second: narrow rows come five times as fast."""
FEWEST_ROWS = 100
MOST_ROWS = 100_000_000
GROWTH = 4.0
CAREFUL_GROWTH = 1.1
"""After a conflict the size creeps up, so that it does not run into the next one at once."""
OVERRUN = 1.5
"""A page of this many targets is cut off where it stands."""
PAUSE_TARGETS = 2.0
"""A pause is a share of the page's time, at most of this many targets: one long statement is not answered by a long sleep."""


class PageTuner:
    """The page size of one unit."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._growth = GROWTH
        self.rows = _within(FIRST_ROWS_PER_SECOND * tuning.page_seconds)

    def took(self, rows: int, seconds: float) -> None:
        """Learn from a page: the next one aims at the target, and grows at most fourfold."""
        if rows <= 0:
            return
        wanted = rows * self._tuning.page_seconds / max(seconds, 1e-4)
        self.rows = _within(min(wanted, rows * self._growth))

    def conflicted(self) -> None:
        """Learn from a page that the server cancelled: half the rows from now on, growing slowly."""
        self._growth = CAREFUL_GROWTH
        self.rows = _within(self.rows / 2)

    def overran(self, seconds: float) -> bool:
        """Whether a page that still runs after so many seconds is to be cut off."""
        return self._tuning.page_seconds > 0 and seconds > OVERRUN * self._tuning.page_seconds

    def pause(self, seconds: float) -> float:
        """Return the seconds to sleep after a page that took so many."""
        counted = min(seconds, PAUSE_TARGETS * self._tuning.page_seconds)
        return counted * self._tuning.pause_share + self._tuning.pause_seconds


def _within(rows: float) -> int:
    return int(min(MOST_ROWS, max(FEWEST_ROWS, rows)))
