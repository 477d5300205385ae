"""What goes into and comes out of the state, as frozen records free of SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rivet_core.facts import Json, Mark, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """A run about to begin. `fingerprint` covers everything that a resume must find unchanged; `units` are its fixed tiles."""

    run_id: str
    export: str
    plan_id: str
    fingerprint: str
    source_fingerprint: str
    mode: str
    units: tuple[Unit, ...]
    started_at: datetime
    cursor_before: tuple[Mark, ...] = ()
    predicted_seconds: float | None = None
    table_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRecord:
    """One published file of a unit. `key` is relative to the destination's root; `columns` holds each column's statistics."""

    unit: int
    part: int
    key: str
    rows: int
    bytes: int
    checksum: str
    columns: Mapping[str, Json] = field(default_factory=dict)
    partition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRecord:
    """A unit whose parts are all published. `schema` is the manifest's list of fields as it was read."""

    unit: int
    rows: int
    bytes: int
    parts: tuple[PartRecord, ...]
    marks: tuple[Mark, ...] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    schema: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumable:
    """The newest unfinished run of an export, with what it already published."""

    run_id: str
    plan_id: str
    fingerprint: str
    started_at: datetime
    units: tuple[Unit, ...]
    cursor_before: tuple[Mark, ...]
    done: tuple[UnitRecord, ...]
    ends: tuple[tuple[str, str], ...] = ()
    """How it ended, newest first: status and class of the error, which is empty where the process died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an export is: seen by a plan, written by a run, checked by a reconcile. Verified never passes committed."""

    export: str
    observed: tuple[Mark, ...] = ()
    committed: tuple[Mark, ...] = ()
    verified: tuple[Mark, ...] = ()
    observed_at: datetime | None = None
    committed_at: datetime | None = None
    verified_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One graded run: what was predicted, what it took."""

    run_id: str
    export: str
    at: datetime
    status: str
    seconds: float
    rows: int
    bytes: int
    predicted_p10: float | None = None
    predicted_p50: float | None = None
    predicted_p90: float | None = None
    basis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of the journal."""

    at: datetime
    kind: str
    plan_id: str
    export: str
    data: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The catalog of one source as it was seen at one moment."""

    source: str
    observed_at: datetime
    data: Mapping[str, Json]
