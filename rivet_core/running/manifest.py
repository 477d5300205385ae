"""The manifest of a run, and `current.json`, which says whose parts are the dataset now. Frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rivet_core.facts import Json, Mark, Unit
from rivet_core.state import PartRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPart:
    """One file: `key` below the destination's root, what unit it came from, and how far that unit reached."""

    key: str
    rows: int
    bytes: int
    checksum: str
    unit: int
    kind: str
    lower: tuple[Mark, ...] = ()
    upper: tuple[Mark, ...] = ()
    marks: tuple[Mark, ...] = ()
    day: str = ""
    partition: str = ""
    schema_fingerprint: str = ""
    columns: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, part: PartRecord, unit: Unit, marks: tuple[Mark, ...], fingerprint: str) -> ManifestPart:
        """Describe a part of a finished unit."""
        return cls(
            key=part.key,
            rows=part.rows,
            bytes=part.bytes,
            checksum=part.checksum,
            unit=part.unit,
            kind=str(unit.kind),
            lower=unit.lower,
            upper=unit.upper,
            marks=marks,
            day=window_of(unit),
            partition=part.partition,
            schema_fingerprint=fingerprint,
            columns=part.columns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What one run wrote. `cursor_after` is the cursor that its commit sets; `delivery` exactly_once or at_least_once."""

    export: str
    run_id: str
    plan_id: str
    fingerprint: str
    mode: str
    format: str
    started_at: str
    finished_at: str
    parts: tuple[ManifestPart, ...]
    schema: tuple[Json, ...]
    schema_fingerprint: str
    cursor_before: tuple[Mark, ...] = ()
    cursor_after: tuple[Mark, ...] | None = None
    delivery: str = "exactly_once"
    dedupe_key: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    drift: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    has_nulls: bool = False
    subject: str = ""
    """What identifies the rows: source, table or query."""
    units: tuple[Unit, ...] = ()
    """What was read, those units that held no row included; empty in manifests of older versions."""
    repairs: int = 0
    """How many repairs made this manifest of the run's own."""
    superseded: tuple[str, ...] = ()
    """Keys of parts that repairs replaced."""

    @property
    def rows(self) -> int:
        """Rows of all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def bytes(self) -> int:
        """Bytes of all parts."""
        return sum(part.bytes for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A manifest that is part of the dataset. `nulls`: its NULL-cursor parts count; `days`: the days of it that count."""

    key: str
    run_id: str
    rows: int
    bytes: int
    committed_at: str
    nulls: bool = True
    days: tuple[str, ...] | None = None

    def counts(self, part: ManifestPart) -> bool:
        """Whether a part of this manifest belongs to the dataset now."""
        if part.kind == "nulls" and not self.nulls:
            return False
        return self.days is None or not part.day or part.day in self.days


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The dataset as it is now. Replacing the file that holds this is the commit (I7)."""

    export: str
    mode: str
    generation: int
    run_id: str
    plan_id: str
    committed_at: str
    members: tuple[Member, ...]
    cursor_before: tuple[Mark, ...] = ()
    cursor_after: tuple[Mark, ...] | None = None
    rows: int = 0
    bytes: int = 0
    subject: str = ""
    """What identifies the rows: source, table or query."""


def window_of(unit: Unit) -> str:
    """Return what names the day of a window unit: its lower bound."""
    return unit.lower[0].value if str(unit.kind) == "window" and unit.lower else ""


def without_nulls(member: Member) -> Member:
    """Return the member with its NULL-cursor parts superseded."""
    return replace(member, nulls=False)
