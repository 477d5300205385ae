"""The manifest of a run, and `current.json`, which says whose parts are the dataset now. Frozen records, JSON in and out.

Paths in a manifest are relative to its own directory, so a dataset may be moved as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rivet_core.errors import IntegrityError
from rivet_core.facts import Json, Mark, Unit
from rivet_core.state import PartRecord
from rivet_core.stores import join, safe_key

MANIFEST_VERSION = 1


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


def window_of(unit: Unit) -> str:
    """Return what names the day of a window unit: its lower bound."""
    return unit.lower[0].value if str(unit.kind) == "window" and unit.lower else ""


def manifest_bytes(manifest: Manifest, key: str) -> bytes:
    """Return the bytes of a manifest that is published under `key`."""
    folder = key.rpartition("/")[0]
    parts: list[Json] = []
    for part in manifest.parts:
        inside = part.key.startswith(f"{folder}/")
        parts.append(
            {
                "path": part.key[len(folder) + 1 :] if inside else None,
                "key": None if inside else part.key,
                "rows": part.rows,
                "bytes": part.bytes,
                "checksum": part.checksum,
                "unit": part.unit,
                "kind": part.kind,
                "lower": _marks(part.lower),
                "upper": _marks(part.upper),
                "marks": _marks(part.marks),
                "day": part.day,
                "partition": part.partition,
                "schema_fingerprint": part.schema_fingerprint,
                "columns": dict(part.columns),
            }
        )
    data: dict[str, Json] = {
        "manifest_version": MANIFEST_VERSION,
        "export": manifest.export,
        "run_id": manifest.run_id,
        "plan_id": manifest.plan_id,
        "fingerprint": manifest.fingerprint,
        "mode": manifest.mode,
        "format": manifest.format,
        "started_at": manifest.started_at,
        "finished_at": manifest.finished_at,
        "rows": manifest.rows,
        "bytes": manifest.bytes,
        "delivery": manifest.delivery,
        "dedupe_key": list(manifest.dedupe_key),
        "cursor_before": _marks(manifest.cursor_before),
        "cursor_after": None if manifest.cursor_after is None else _marks(manifest.cursor_after),
        "schema": list(manifest.schema),
        "schema_fingerprint": manifest.schema_fingerprint,
        "counts": dict(manifest.counts),
        "drift": list(manifest.drift),
        "days": list(manifest.days),
        "has_nulls": manifest.has_nulls,
        "parts": parts,
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass") + b"\n"


def read_manifest(data: bytes, key: str) -> Manifest:
    """Read a manifest. Raises `IntegrityError` when it is damaged, of a newer version, or points outside of the root."""
    found = _load(data, key, "manifest_version")
    folder = key.rpartition("/")[0]
    try:
        parts = tuple(
            ManifestPart(
                key=safe_key(join(folder, part["path"]) if part.get("path") else part["key"]),
                rows=part["rows"],
                bytes=part["bytes"],
                checksum=part["checksum"],
                unit=part["unit"],
                kind=part["kind"],
                lower=_from(part["lower"]),
                upper=_from(part["upper"]),
                marks=_from(part["marks"]),
                day=part["day"],
                partition=part["partition"],
                schema_fingerprint=part["schema_fingerprint"],
                columns=part["columns"],
            )
            for part in found["parts"]
        )
        plain = {
            name: found[name]
            for name in ("export", "run_id", "plan_id", "fingerprint", "mode", "format", "started_at", "finished_at")
        }
        return Manifest(
            **plain,
            parts=parts,
            schema=tuple(found["schema"]),
            schema_fingerprint=found["schema_fingerprint"],
            cursor_before=_from(found["cursor_before"]),
            cursor_after=None if found["cursor_after"] is None else _from(found["cursor_after"]),
            delivery=found["delivery"],
            dedupe_key=tuple(found["dedupe_key"]),
            counts=found["counts"],
            drift=tuple(found["drift"]),
            days=tuple(found["days"]),
            has_nulls=found["has_nulls"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(key) from error


def current_bytes(current: Current) -> bytes:
    """Return the bytes of `current.json`."""
    data: dict[str, Json] = {
        "current_version": MANIFEST_VERSION,
        "export": current.export,
        "mode": current.mode,
        "generation": current.generation,
        "run_id": current.run_id,
        "plan_id": current.plan_id,
        "committed_at": current.committed_at,
        "rows": current.rows,
        "bytes": current.bytes,
        "cursor_before": _marks(current.cursor_before),
        "cursor_after": None if current.cursor_after is None else _marks(current.cursor_after),
        "manifests": [
            {
                "key": member.key,
                "run_id": member.run_id,
                "rows": member.rows,
                "bytes": member.bytes,
                "committed_at": member.committed_at,
                "nulls": member.nulls,
                "days": None if member.days is None else list(member.days),
            }
            for member in current.members
        ],
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass") + b"\n"


def read_current(data: bytes, key: str) -> Current:
    """Read `current.json`. Raises `IntegrityError` when it is damaged or of a newer version."""
    found = _load(data, key, "current_version")
    try:
        members = tuple(
            Member(
                key=safe_key(member["key"]),
                run_id=member["run_id"],
                rows=member["rows"],
                bytes=member["bytes"],
                committed_at=member["committed_at"],
                nulls=member["nulls"],
                days=None if member["days"] is None else tuple(member["days"]),
            )
            for member in found["manifests"]
        )
        plain = {
            name: found[name] for name in ("export", "mode", "generation", "run_id", "plan_id", "committed_at", "rows", "bytes")
        }
        return Current(
            **plain,
            members=members,
            cursor_before=_from(found["cursor_before"]),
            cursor_after=None if found["cursor_after"] is None else _from(found["cursor_after"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(key) from error


def without_nulls(member: Member) -> Member:
    """Return the member with its NULL-cursor parts superseded."""
    return replace(member, nulls=False)


def _marks(marks: tuple[Mark, ...]) -> list[Json]:
    return [mark.to_json() for mark in marks]


def _from(data: Any) -> tuple[Mark, ...]:
    return tuple(Mark.from_json(mark) for mark in data)


def _load(data: bytes, key: str, version: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise _damaged(key) from error
    if not isinstance(found, dict) or not isinstance(found.get(version), int):
        raise _damaged(key)
    if found[version] > MANIFEST_VERSION:
        raise IntegrityError(f"{key} was written by a newer Rivet", hint="upgrade Rivet", code="manifest_newer")
    return found


def _damaged(key: str) -> IntegrityError:
    return IntegrityError(
        f"{key} is damaged", hint="restore it from a backup, or remove it and export again", code="manifest_damaged"
    )
