"""From an entry of `exports:` to an `ExportSpec` with every key resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rivet_core.config.document import Document
from rivet_core.config.export_model import DefaultsModel, ExportModel
from rivet_core.config.modes import check_mode, cursor_mode, describe_idle_keys
from rivet_core.config.nodes import Location
from rivet_core.config.nodes import Mapping as MappingNode
from rivet_core.config.output import resolve_compression, resolve_destination
from rivet_core.config.query import read_query
from rivet_core.config.sections import suggest
from rivet_core.config.sources import ResolvedSource
from rivet_core.config.tuning import merge_tuning
from rivet_core.config.values import Section
from rivet_core.facts import ExportSpec, Mode, NullCursor, Tier, ValueSpec

_COPIED = (
    "format",
    "table",
    "cursor_column",
    "cursor_fallback_column",
    "allow_text_cursor",
    "chunk_size",
    "chunk_count",
    "chunk_by_days",
    "parallel",
    "time_column",
    "time_column_type",
    "days_window",
    "snapshot",
    "out_of_range",
    "keep_runs",
    "partition_granularity",
    "max_file_size",
    "skip_empty",
    "on_schema_drift",
    "reconcile_required",
    "wave",
    "parallel_safe",
    "heavy",
    "source_group",
)
"""Keys that go from the config to the spec under the same name, unchanged."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an export is resolved against; `warnings` collects what is worth knowing and no error."""

    document: Document
    base: Path
    sources: Mapping[str, ResolvedSource]
    defaults: DefaultsModel
    destination: MappingNode | None
    warnings: list[str] = field(default_factory=list)


def resolve_export(around: Surroundings, index: int, export: ExportModel) -> ExportSpec:
    """Return the spec of one export. Raises `ConfigError` with line and key path."""
    at: Location = ("exports", index)
    keys = lay_over(around.defaults, export)
    mode = Mode(keys.get("mode", "full"))
    check_mode(around.document, at, mode, keys)
    around.warnings.extend(around.document.place((*at, key)) + why for key, why in describe_idle_keys(mode, export))
    source = _choose_source(around, at, keys)
    query = read_query(around.document, at, export, around.base, around.warnings)
    compression, level, profile = resolve_compression(
        around.document, at, around.defaults, export, str(keys.get("format", "parquet"))
    )
    columns = keys.get("columns")
    chunk_key = keys.get("chunk_by_key", False)
    retries = keys.get("chunk_max_attempts")
    return ExportSpec(
        name=export.name,
        source=source.name,
        mode=mode,
        query=query,
        columns=tuple(columns) if isinstance(columns, list) else (),
        overrides=dict(columns) if isinstance(columns, dict) else {},
        compression=compression,
        compression_level=level,
        compression_profile=profile,
        parquet=_section(keys.get("parquet")),
        destination=resolve_destination(around.document, at, around.destination, mode, partitioned="partition_by" in keys),
        incremental_cursor_mode=cursor_mode(around.document, at, keys)
        if mode is Mode.INCREMENTAL
        else keys.get("incremental_cursor_mode"),
        lookback_seconds=keys.get("lookback"),
        null_cursor=NullCursor(keys.get("null_cursor", "include")),
        chunk_column=chunk_key if isinstance(chunk_key, str) else keys.get("chunk_column"),
        chunk_by_key=bool(chunk_key),
        partition_by=tuple(keys.get("partition_by", ())),
        meta_columns=_section(keys.get("meta_columns")),
        quality=_quality(around.document, at, _section(keys.get("quality"))),
        depends_on=tuple(keys.get("depends_on", ())),
        value=_value(_section(keys.get("value"))),
        tuning=merge_tuning(
            (source.tuning, around.defaults.tuning, export.tuning), environment=source.environment, max_attempts=retries
        ),
        **{name: keys[name] for name in _COPIED if name in keys},
    )


def lay_over(defaults: DefaultsModel, export: ExportModel) -> dict[str, Any]:
    """Return the keys that are set, the export's over the defaults'; an explicit `null` unsets. Sections merge key by key."""
    keys = {name: getattr(defaults, name) for name in defaults.model_fields_set}
    for name in export.model_fields_set:
        value, default = getattr(export, name), keys.get(name)
        if isinstance(value, Section) and isinstance(default, Section):
            value = {**_set_keys(default), **_set_keys(value)}
        keys[name] = value
    return {name: value for name, value in keys.items() if value is not None}


def _set_keys(section: Section) -> dict[str, Any]:
    return {name: getattr(section, name) for name in section.model_fields_set}


def _section(value: Section | dict[str, Any] | None) -> dict[str, Any]:
    keys = _set_keys(value) if isinstance(value, Section) else value or {}
    return {name: list(item) if isinstance(item, list) else item for name, item in sorted(keys.items()) if item is not None}


def _quality(document: Document, at: Location, keys: dict[str, Any]) -> dict[str, Any]:
    low, high = keys.get("row_count_min", 0), keys.get("row_count_max")
    if high is not None and low > high:
        own, _ = document.find((*at, "quality"))
        where: Location = ("defaults", "quality") if own is None else (*at, "quality")
        raise document.error(where, f"row_count_min {low} is more than row_count_max {high}", hint="no run could pass")
    return keys


def _value(keys: Mapping[str, Any]) -> ValueSpec:
    tier = keys.get("tier")
    return ValueSpec(
        tier=None if tier is None else Tier(tier),
        freshness_seconds=keys.get("freshness"),
        deadline=keys.get("deadline"),
        consumers=tuple(keys.get("consumers", ())),
    )


def _choose_source(around: Surroundings, at: Location, keys: Mapping[str, Any]) -> ResolvedSource:
    name = keys.get("source")
    if name is None:
        if len(around.sources) == 1:
            return next(iter(around.sources.values()))
        raise around.document.error(
            at,
            f"export {keys['name']} names no source and there are several",
            hint="add `source:`, one of " + ", ".join(around.sources),
        )
    if name not in around.sources:
        node, _ = around.document.find((*at, "source"))
        where: Location = ("defaults", "source") if node is None else (*at, "source")
        raise around.document.error(
            where, f"there is no source named {name}", hint=suggest(name, around.sources, what="sources")
        )
    return around.sources[name]


def destination_node(document: Document) -> MappingNode | None:
    """Return the default destination as it stands in the file."""
    node = document.root.entries.get("destination")
    return node if isinstance(node, MappingNode) else None
