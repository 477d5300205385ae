"""What a reconcile found: one result per unit, and one for the export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rivet_core.errors import (
    EXIT_BUSY,
    EXIT_CONFIG,
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_INTEGRITY,
    EXIT_INTERNAL,
    EXIT_PLUGIN,
    RivetError,
)
from rivet_core.facts import Json, Mark, UnitDigest
from rivet_core.running.slices import Slice


class Result(StrEnum):
    """How a source and the files of a dataset compare."""

    MATCH = "match"
    MISMATCH = "mismatch"
    PARTIAL = "partial"
    """They agree, in all columns but those that have no canonical text."""
    CHANGED = "changed"
    """They differ by nothing but rows that were added or moved past the run's boundary since."""
    UNKNOWN = "unknown"
    """It could not be told."""


EXIT_CODES: Mapping[Result, int] = {
    Result.MATCH: EXIT_DONE,
    Result.PARTIAL: EXIT_DONE,
    Result.CHANGED: EXIT_DONE,
    Result.MISMATCH: EXIT_INTEGRITY,
    Result.UNKNOWN: EXIT_FAILED,
}
SERIOUS = (EXIT_CONFIG, EXIT_PLUGIN, EXIT_INTEGRITY, EXIT_BUSY, EXIT_INTERNAL)
_WORST_FIRST = (Result.MISMATCH, Result.UNKNOWN, Result.CHANGED, Result.PARTIAL, Result.MATCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitComparison:
    """One unit. `detail` says what is behind a result that is no match."""

    slice: Slice
    result: Result
    files: UnitDigest | None = None
    source: UnitDigest | None = None
    detail: str = ""

    def as_dict(self) -> dict[str, Json]:
        """Return the entry of `rivet reconcile --json`."""
        return {
            "run_id": self.slice.manifest.run_id,
            "unit": self.slice.unit.index,
            "result": str(self.result),
            "detail": self.detail,
            "files": _digest(self.files),
            "source": _digest(self.source),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """One export. `left_out` are the columns that could not be compared, `run_id` and `cursor` where its dataset ends.

    `error` is why it could not be looked at as a whole.
    """

    export: str
    run_id: str = ""
    cursor: tuple[Mark, ...] = ()
    units: tuple[UnitComparison, ...] = ()
    left_out: tuple[str, ...] = ()
    error: RivetError | None = None

    @property
    def result(self) -> Result:
        """The worst of the units' results."""
        if self.error is not None:
            return Result.UNKNOWN
        found = {unit.result for unit in self.units}
        if self.left_out:
            found.add(Result.PARTIAL)
        return next((result for result in _WORST_FIRST if result in found), Result.MATCH)

    @property
    def exit_code(self) -> int:
        """0 unless the two differ (5) or it could not be told (1, or what is more serious: a plugin, a damaged manifest)."""
        if self.error is not None and self.error.exit_code in SERIOUS:
            return self.error.exit_code
        return EXIT_CODES[self.result]

    @property
    def bad(self) -> tuple[UnitComparison, ...]:
        """The units that a repair would export again."""
        return tuple(unit for unit in self.units if unit.result is Result.MISMATCH)

    @property
    def rows(self) -> int:
        """Rows of the files, as far as they could be read."""
        return sum(unit.files.rows for unit in self.units if unit.files is not None)

    def as_dict(self) -> dict[str, Json]:
        """Return the entry of `rivet reconcile --json`."""
        found: dict[str, Json] = {
            "export": self.export,
            "result": str(self.result),
            "run_id": self.run_id or None,
            "rows": self.rows,
            "left_out": list(self.left_out),
            "units": [unit.as_dict() for unit in self.units],
        }
        if self.error is not None:
            found["error"] = {"code": self.error.code, "message": self.error.message, "hint": self.error.hint}
        return found


def _digest(digest: UnitDigest | None) -> Json:
    return None if digest is None else {"rows": digest.rows, "digest": f"{digest.total:016x}"}
