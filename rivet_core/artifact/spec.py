"""An export's spec to JSON and back: what the plan stores is exactly what apply runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from functools import lru_cache
from typing import Any

from rivet_core.facts import DestinationRef, ExportSpec, Json, Mode, NullCursor, Tier, Tuning, ValueSpec

_TUPLES = ("columns", "partition_by", "depends_on")


def spec_to_json(spec: ExportSpec) -> dict[str, Json]:
    """Return every resolved key of the spec as JSON."""
    return {name: value if type(value := getattr(spec, name)) in _AS_IT_IS else _plain(value) for name in _NAMES[ExportSpec]}


def spec_from_json(data: Mapping[str, Any]) -> ExportSpec:
    """Read what `spec_to_json` wrote; keys it does not know (what the plan adds for its gates) are left out."""
    known = _NAMES[ExportSpec]
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


_NAMES: dict[type[Any], tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in (ExportSpec, Tuning, ValueSpec, DestinationRef)
}
_AS_IT_IS = frozenset((str, int, float, bool, type(None)))


@lru_cache(maxsize=1024)
def _shared(value: Tuning | ValueSpec) -> dict[str, Json]:
    """Return as JSON what most exports of a campaign have alike."""
    return {name: _plain(getattr(value, name)) for name in _NAMES[type(value)]}


def _plain(value: Any) -> Json:
    plain: Json = value
    if type(value) in _AS_IT_IS:
        return plain
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Tuning | ValueSpec):
        return dict(_shared(value))
    if isinstance(value, DestinationRef):
        return {name: _plain(getattr(value, name)) for name in _NAMES[DestinationRef]}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return plain
