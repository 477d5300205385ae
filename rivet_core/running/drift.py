"""Schema drift: what the columns are now against what the dataset's last manifest says (O07)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from rivet_core.errors import IntegrityError
from rivet_core.facts import ExportSpec, Json

_WIDER: dict[str, tuple[str, ...]] = {
    "int8": ("int16", "int32", "int64"),
    "int16": ("int32", "int64"),
    "int32": ("int64",),
    "uint8": ("uint16", "uint32", "uint64", "int16", "int32", "int64"),
    "uint16": ("uint32", "uint64", "int32", "int64"),
    "uint32": ("uint64", "int64"),
    "float": ("double",),
    "string": ("large_string",),
    "binary": ("large_binary",),
}


def schema_json(schema: pa.Schema) -> tuple[Json, ...]:
    """Return the list of fields that a manifest keeps."""
    return tuple({"name": field.name, "type": str(field.type), "nullable": field.nullable} for field in schema)


def schema_fingerprint(fields: Sequence[Json]) -> str:
    """Return a short digest of the fields' names and types, in order."""
    return hashlib.sha256(
        json.dumps([_named(field) for field in fields], ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]


def _named(field: Any) -> tuple[str, str]:
    return str(field["name"]), str(field["type"])


def compare(before: Sequence[Json], now: Sequence[Json]) -> tuple[list[str], list[str]]:
    """Return `(compatible, incompatible)` changes in words: added columns and wider types are compatible, the rest is not."""
    old, new = dict(_named(field) for field in before), dict(_named(field) for field in now)
    compatible = [f"column {name} ({kind}) was added" for name, kind in new.items() if name not in old]
    incompatible = [f"column {name} ({kind}) is gone" for name, kind in old.items() if name not in new]
    for name, kind in new.items():
        was = old.get(name, kind)
        if was == kind:
            continue
        if widens(was, kind):
            warning = "; readers that take the first file's type for all round it" if _gains_digits(was, kind) else ""
            compatible.append(f"column {name} was widened from {was} to {kind}{warning}")
        else:
            incompatible.append(f"column {name} was {was} and is {kind} now")
    return compatible, incompatible


def moved(before: Sequence[Json], now: Sequence[Json]) -> list[str]:
    """Return in words that columns which were there stand in another order: to many a reader of CSV the place is the name."""
    old, new = [_named(field)[0] for field in before], [_named(field)[0] for field in now]
    same = [name for name in new if name in old] == [name for name in old if name in new]
    return [] if same else [f"the columns stand in another order: {', '.join(new)}"]


def widens(was: str, now: str) -> bool:
    """Whether every value of type `was` is a value of `now`, so that readers can take both files together."""
    if now in _WIDER.get(was, ()):
        return True
    for name in ("decimal128", "decimal256"):
        if was.startswith(f"{name}(") and now.startswith("decimal"):
            old, new = _digits(was), _digits(now)
            return new[1] >= old[1] and new[0] - new[1] >= old[0] - old[1]
    return False


def _gains_digits(was: str, now: str) -> bool:
    """Whether a wider type has more digits behind the point: read as the old type, whole numbers fail, but these are lost."""
    return was == "float" or (now.startswith("decimal") and _digits(now)[1] > _digits(was)[1])


def _digits(kind: str) -> tuple[int, int]:
    precision, _, scale = kind.partition("(")[2].rstrip(")").partition(",")
    return int(precision), int(scale)


def check_drift(spec: ExportSpec, before: Sequence[Json], now: Sequence[Json], *, shares: bool) -> list[str]:
    """Apply `on_schema_drift` and return what is worth a warning.

    `shares` says that the new files join the old ones in one dataset: incompatible files then never do so silently, only
    `continue` lets them. Raises `IntegrityError` where the policy refuses.
    """
    compatible, incompatible = compare(before, now)
    changes = [*incompatible, *compatible, *(moved(before, now) if spec.format == "csv" else [])]
    if not changes:
        return []
    if spec.on_schema_drift == "fail" or (spec.on_schema_drift == "warn" and incompatible and shares):
        raise IntegrityError(
            f"{spec.name}: the columns differ from the last run: {'; '.join(changes)}",
            hint=f"`rivet state accept -e {spec.name}` lets the next run go on; or `rivet state reset` starts a new dataset",
            code="schema_drift",
        )
    return changes
