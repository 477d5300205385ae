"""The second pass over a config: keys and values that belong to the plugins of its sources and destinations."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from rivet_core.api import Ref
from rivet_core.config.campaign import CampaignConfig
from rivet_core.config.document import Document, read_document
from rivet_core.config.model import DestinationModel, SourceModel
from rivet_core.config.nodes import Location
from rivet_core.config.problems import leave_causes, to_error
from rivet_core.config.sections import suggest
from rivet_core.errors import ConfigError, PluginError, RivetError
from rivet_core.facts import Json
from rivet_core.options import validated
from rivet_core.plugins.registry import PUBLISHED, where_to_get
from rivet_core.references import holds_reference

_OWN: dict[str, type[BaseModel]] = {"source": SourceModel, "destination": DestinationModel}
_ELSEWHERE = frozenset({"mongo", "mongodb", "mssql", "sqlserver", "oracle", "gcs", "azure"})
"""Types of the Rust tool that no plugin of ours brings."""


class Offers(Protocol):
    """What is needed of a registry: records by type, and the import of a lazy reference."""

    @property
    def sources(self) -> Mapping[str, Any]:
        """Return source records by type, each under `.record`."""
        ...

    @property
    def destinations(self) -> Mapping[str, Any]:
        """Return destination records by type, each under `.record`."""
        ...

    def resolve(self, ref: Ref) -> Any:
        """Import what `ref` names."""
        ...


def check_plugin_keys(config: CampaignConfig, registry: Offers) -> None:
    """Check every source's and destination's options against its plugin's model; opens nothing, resolves no reference.

    Raises `PluginError` for a type that nothing installed offers, with the line to install it, and `ConfigError` with file
    and line for a key or a value that the plugin does not take. Values that hold references are checked when they are opened.
    """
    for source in config.sources.values():
        _check(config, registry, "source", source.type, source.options, ("sources", source.name))
    seen: set[str] = set()
    for index, spec in enumerate(config.exports):
        kind, options = spec.destination.type, spec.destination.options
        written = json.dumps([kind, options], sort_keys=True)
        if written not in seen:
            seen.add(written)
            _check(config, registry, "destination", kind, options, ("exports", index, "destination"))


def _check(
    config: CampaignConfig, registry: Offers, what: str, kind: str, options: Mapping[str, Json], location: Location
) -> None:
    offered = registry.sources if what == "source" else registry.destinations
    if kind not in offered:
        document, where = _locate(config, what, location)
        raise _unknown_type(document.place((*where, "type")), what, kind, sorted(offered))
    model: type[BaseModel] = registry.resolve(offered[kind].record.options)
    try:
        validated(model, dict(options), base=config.base, what=f"{what} type {kind}")
    except PluginError:
        raise
    except ValidationError as error:
        details = [item for item in leave_causes(error.errors(include_url=False)) if not _is_open(item, options)]
        if not details:
            return
        document, where = _locate(config, what, location)
        raise min((_explain(document, where, item, model, what) for item in details), key=lambda found: found[0])[1] from None
    except RivetError as error:
        document, where = _locate(config, what, location)
        raise ConfigError(document.place(where) + error.message, hint=error.hint) from None


def _is_open(details: Mapping[str, Any], options: Mapping[str, Json]) -> bool:
    """Say whether a problem may vanish once references are resolved, or with those the options stand in for."""
    if details["type"] == "extra_forbidden":
        return False
    value: Any = dict(options)
    for step in details["loc"]:
        if isinstance(value, dict):
            inside = step in value
        else:
            inside = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not inside:
            break
        value = value[step]
    return details["type"] != "missing" and holds_reference(value)


def _locate(config: CampaignConfig, what: str, location: Location) -> tuple[Document, Location]:
    """Read the file again for its lines; only an error pays for it."""
    document = read_document(config.given)
    node, _ = document.find(location)
    if node is None:
        location = (what,)
    return document, location


def _unknown_type(place: str, what: str, kind: str, offered: list[str]) -> PluginError:
    known = sorted({*offered, *PUBLISHED})
    hint = where_to_get(what, kind)
    if (
        kind not in PUBLISHED
        and kind not in _ELSEWHERE
        and (near := suggest(kind, known, what="types")).startswith("did you mean")
    ):
        hint = near
    return PluginError(
        f"{place}unknown {what} type {kind}; installed: {', '.join(offered) or 'none'}", hint=hint, code=f"unknown_{what}_type"
    )


def _explain(
    document: Document, where: Location, details: Mapping[str, Any], model: type[BaseModel], what: str
) -> tuple[int, ConfigError]:
    line, error = to_error(document, where, details)
    if details["type"] == "extra_forbidden":
        path = details["loc"]
        own = [*_OWN[what].model_fields] if len(path) == 1 else []
        error.hint = suggest(str(path[-1]), [*_keys_at(model, path[:-1]), *own], what="valid keys")
    return line, error


def _keys_at(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """Return the keys valid at `path` below `model`."""
    for step in path:
        field = model.model_fields.get(str(step))
        nested = None if field is None else _model_in(field.annotation)
        if nested is None:
            return []
        model = nested
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in typing.get_args(annotation) if (found := _model_in(part)) is not None), None)
