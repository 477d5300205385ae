"""Cursors: which column marks progress, how good it is, and a point on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rivet_core.facts.evidence import Evidence, Json


class CursorQuality(StrEnum):
    """The five verdicts, best first (scoring section 5)."""

    STRONG_MONOTONIC = "strong_monotonic"
    WEAK_TIME = "weak_time"
    WEAK_MULTI_CANDIDATE = "weak_multi_candidate"
    FALLBACK_ONLY = "fallback_only"
    NONE = "none"

    @property
    def caution(self) -> int:
        """0 for the strongest verdict, 4 for none: among equal evidence the most cautious wins."""
        return _CAUTION[self]


_CAUTION = {quality: place for place, quality in enumerate(CursorQuality)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorRef:
    """The columns an export reads by, in order: the cursor, then its fallback or tie breaker.

    `mode` is `single_column`, `coalesce`, `pair`, or `time_window`; `declared` is false for a candidate nobody named.
    """

    columns: tuple[str, ...]
    mode: str = "single_column"
    declared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorVerdict:
    """How far a cursor can be trusted, by whom and why. `evidence_quality` 0..100 decides between classifiers."""

    quality: CursorQuality
    columns: tuple[str, ...]
    why: str
    evidence_quality: int
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One point on an ordered column: where a unit begins or ends, or how far a cursor has moved.

    `type` is the column's source type, `value` the server's canonical text at full precision (zoned timestamps in UTC), so
    that a saved mark compares by the type's own order and never as text unless the column is text.
    """

    column: str
    type: str
    value: str

    def to_json(self) -> dict[str, Json]:
        """Return the JSON object kept in plans, manifests and the state."""
        return {"column": self.column, "type": self.type, "value": self.value}

    @classmethod
    def from_json(cls, data: dict[str, str]) -> Mark:
        """Read what `to_json` wrote."""
        return cls(column=data["column"], type=data["type"], value=data["value"])
