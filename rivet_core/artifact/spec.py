"""An export's spec to JSON and back: what the plan stores is exactly what apply runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any

from rivet_core.facts import DestinationRef, ExportSpec, Json, Mode, NullCursor, Tier, Tuning, ValueSpec

_TUPLES = ("columns", "partition_by", "depends_on")


def spec_to_json(spec: ExportSpec) -> dict[str, Json]:
    """Return every resolved key of the spec as JSON."""
    return {field.name: _plain(getattr(spec, field.name)) for field in fields(spec)}


def spec_from_json(data: Mapping[str, Any]) -> ExportSpec:
    """Read what `spec_to_json` wrote; keys it does not know (what the plan adds for its gates) are left out."""
    known = {field.name for field in fields(ExportSpec)}
    values = {key: value for key, value in data.items() if key in known}
    for key in _TUPLES:
        values[key] = tuple(values[key])
    value = dict(values["value"])
    values["value"] = ValueSpec(
        **{**value, "tier": Tier(value["tier"]) if value["tier"] else None, "consumers": tuple(value["consumers"])}
    )
    return ExportSpec(
        **{
            **values,
            "mode": Mode(values["mode"]),
            "null_cursor": NullCursor(values["null_cursor"]),
            "tuning": Tuning(**values["tuning"]),
            "destination": DestinationRef(**values["destination"]),
        }
    )


def _plain(value: Any) -> Json:
    if isinstance(value, StrEnum):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    plain: Json = value
    return plain
