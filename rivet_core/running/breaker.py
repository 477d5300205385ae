"""The shared-cause breaker: what failed alike three times in a row on one source or destination is not tried again."""

from __future__ import annotations

from collections.abc import Iterable

from rivet_core.errors import DestinationError, RivetError, SourceError
from rivet_core.running.connections import Cause

IN_A_ROW = 3

OF_ONE_EXPORT = {
    "source": frozenset({"missing", "permission", "data", "conflict", "other"}),
    "destination": frozenset({"missing", "data"}),
}
"""Classes that say something about one table, not about what all exports share."""


class Breaker:
    """Counts failures in a row by cause. Not thread-safe: the executor holds its lock."""

    def __init__(self) -> None:
        self._row: dict[Cause, tuple[str, int]] = {}
        self.open: dict[Cause, str] = {}

    def succeeded(self, causes: Iterable[Cause]) -> None:
        """A success ends the row."""
        for cause in causes:
            self._row.pop(cause, None)

    def failed(self, causes: Iterable[Cause], error: RivetError) -> Cause | None:
        """Count a failure; return the cause whose row it completed."""
        kind = "source" if isinstance(error, SourceError) else "destination" if isinstance(error, DestinationError) else ""
        for cause in causes:
            if cause[0] != kind:
                continue
            found = str(getattr(error, "error_class", "other"))
            if found in OF_ONE_EXPORT[kind]:
                self._row.pop(cause, None)
                continue
            last, count = self._row.get(cause, ("", 0))
            count = count + 1 if last == found else 1
            self._row[cause] = (found, count)
            if count >= IN_A_ROW and cause not in self.open:
                self.open[cause] = error.message
                return cause
        return None
