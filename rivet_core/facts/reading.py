"""What a source session is asked to read: the shape of the rows, and the unit of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rivet_core.facts.cursor import Mark
from rivet_core.facts.evidence import Json
from rivet_core.facts.export import ExportSpec, Mode, Tuning


class UnitKind(StrEnum):
    """How a unit's rows are selected."""

    WHOLE = "whole"
    """Everything, in one statement or in pages along a key."""
    RANGE = "range"
    """`lower < key <= upper` by row comparison over `columns`; a missing bound is open."""
    NULLS = "nulls"
    """The rows whose key (or cursor) is NULL."""
    CURSOR = "cursor"
    """Rows past `lower`, ordered by the cursor, to the end; the marks written become the new cursor."""
    WINDOW = "window"
    """`lower <= time_column < upper`."""
    CTID = "ctid"
    """A block range of a PostgreSQL heap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One checkpointed part of an export, fixed in the plan.

    `index` numbers the units of an export from 0 and names its parts. Bounds are one `Mark` per column; `lower_inclusive` is
    true for windows and for cursors without a unique key (the boundary rows are then delivered again). `relation` narrows a
    unit to one leaf of a partitioned table. `rows` is an estimate, `None` when unknown.
    """

    index: int
    kind: UnitKind
    columns: tuple[str, ...] = ()
    lower: tuple[Mark, ...] = ()
    upper: tuple[Mark, ...] = ()
    lower_inclusive: bool = False
    upper_inclusive: bool = True
    relation: str = ""
    rows: int | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the JSON object that stands in `units` of the plan."""
        return {
            "index": self.index,
            "kind": str(self.kind),
            "columns": list(self.columns),
            "lower": [mark.to_json() for mark in self.lower],
            "upper": [mark.to_json() for mark in self.upper],
            "lower_inclusive": self.lower_inclusive,
            "upper_inclusive": self.upper_inclusive,
            "relation": self.relation,
            "rows": self.rows,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Unit:
        """Read what `to_json` wrote."""
        return cls(
            index=data["index"],
            kind=UnitKind(data["kind"]),
            columns=tuple(data["columns"]),
            lower=tuple(Mark.from_json(mark) for mark in data["lower"]),
            upper=tuple(Mark.from_json(mark) for mark in data["upper"]),
            lower_inclusive=data["lower_inclusive"],
            upper_inclusive=data["upper_inclusive"],
            relation=data["relation"],
            rows=data["rows"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitDigest:
    """What the rows of a unit add up to, wherever they lie: their number, and the sum modulo 2^64 of the first 8 bytes of
    SHA-256 over the canonical text of each. `left_out` names asked columns that have no canonical text there.
    """

    rows: int
    total: int
    left_out: tuple[str, ...] = ()


def connections_of(parallel: int, units: int, snapshot: str) -> int:
    """Return the connections an export takes at its widest: one per unit read at once, and one that holds their snapshot.

    Units that are read one after the other need none for it: they share their transaction.
    """
    widest = max(1, min(parallel, units))
    return widest + (1 if snapshot == "consistent" and widest > 1 else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec:
    """The part of an export's spec that a source needs to build statements.

    `columns` empty means all. `cursor` names the cursor columns of an incremental export in order (cursor, then fallback or
    tie breaker) and `cursor_mode` how they combine. `export` names the session at the server (`application_name`).
    `parallel` is how many units are read at once.
    """

    export: str
    table: str | None = None
    query: str | None = None
    mode: Mode = Mode.FULL
    columns: tuple[str, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    cursor: tuple[str, ...] = ()
    cursor_mode: str = "single_column"
    null_cursor: str = "include"
    lookback_seconds: float | None = None
    allow_text_cursor: bool = False
    chunk_column: str | None = None
    chunk_by_key: bool = False
    chunk_size: int | None = None
    chunk_count: int | None = None
    chunk_by_days: int | None = None
    time_column: str | None = None
    time_column_type: str = "timestamp"
    days_window: int | None = None
    snapshot: str = "per_unit"
    parallel: int = 1
    out_of_range: str | None = None
    tuning: Tuning = field(default_factory=Tuning)

    @classmethod
    def of(cls, spec: ExportSpec) -> ReadSpec:
        """Return the part of an export's spec that its source needs."""
        incremental = spec.mode is Mode.INCREMENTAL
        cursor = tuple(name for name in (spec.cursor_column, spec.cursor_fallback_column) if name) if incremental else ()
        coalesced = spec.cursor_fallback_column is not None and spec.incremental_cursor_mode in (None, "coalesce")
        return cls(
            export=spec.name,
            table=spec.table,
            query=spec.query,
            mode=spec.mode,
            columns=spec.columns,
            overrides=spec.overrides,
            cursor=cursor,
            cursor_mode="coalesce" if coalesced else spec.incremental_cursor_mode or "single_column",
            null_cursor=str(spec.null_cursor),
            lookback_seconds=spec.lookback_seconds,
            allow_text_cursor=spec.allow_text_cursor,
            chunk_column=spec.chunk_column,
            chunk_by_key=spec.chunk_by_key,
            chunk_size=spec.chunk_size,
            chunk_count=spec.chunk_count,
            chunk_by_days=spec.chunk_by_days,
            time_column=spec.time_column,
            time_column_type=spec.time_column_type,
            days_window=spec.days_window,
            snapshot=spec.snapshot,
            parallel=spec.parallel,
            out_of_range=spec.out_of_range,
            tuning=spec.tuning,
        )
