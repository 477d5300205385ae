"""Manifests and `current.json` as bytes, and back: damaged, newer or escaping ones are refused by name.

Paths in a manifest are relative to its own directory, so a dataset may be moved as a whole.
"""

from __future__ import annotations

import json
from typing import Any

from rivet_core.errors import IntegrityError
from rivet_core.facts import Json, Mark, Unit
from rivet_core.running.manifest import Current, Manifest, ManifestPart, Member
from rivet_core.stores import join, safe_key

MANIFEST_VERSION = 1


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
        "subject": manifest.subject,
        "has_nulls": manifest.has_nulls,
        "units": [unit.to_json() for unit in manifest.units],
        "parts": parts,
    }
    if manifest.repairs:
        data |= {"repairs": manifest.repairs, "superseded": list(manifest.superseded)}
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
            subject=found.get("subject", ""),
            units=tuple(Unit.from_json(unit) for unit in found.get("units", ())),
            repairs=found.get("repairs", 0),
            superseded=tuple(safe_key(key) for key in found.get("superseded", ())),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
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
        "subject": current.subject,
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
            subject=found.get("subject", ""),
            members=members,
            cursor_before=_from(found["cursor_before"]),
            cursor_after=None if found["cursor_after"] is None else _from(found["cursor_after"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(key) from error


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
