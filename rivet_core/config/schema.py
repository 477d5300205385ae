"""The JSON Schema of `rivet.yaml`, for editors: `rivet schema config`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeAlias

from rivet_core.config.model import RootModel
from rivet_core.config.plugin_keys import Offers

Schema: TypeAlias = "dict[str, Any]"

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE: Schema = {"type": "string", "pattern": r"^\$\{[^{}]+\}$", "description": "A reference, such as ${env:NAME}."}
_EXTENSIONS: Schema = {"^x-": {"description": "Your own: a place for anchors and notes."}}
_REF = "#/$defs/{model}"


def config_schema(registry: Offers | None = None) -> Schema:
    """Return the schema (draft 2020-12). With a registry, the options of installed plugins stand under their type."""
    schema = RootModel.model_json_schema(ref_template=_REF)
    definitions: Schema = schema.pop("$defs")
    for definition in definitions.values():
        _finish(definition)
    _finish(schema)
    schema["properties"]["exports"]["minItems"] = 1
    schema["properties"]["sources"]["minProperties"] = 1
    schema["oneOf"] = [{"required": ["source"]}, {"required": ["sources"]}]
    schema["patternProperties"] = _EXTENSIONS
    for name, field in RootModel.model_fields.items():  # pydantic drops one that equals the section's own
        schema["properties"][name].setdefault("description", field.description)
    definitions["PlanningModel"]["properties"]["rules"]["additionalProperties"] = False
    definitions["ExportModel"]["patternProperties"] = _EXTENSIONS
    definitions["ExportModel"]["oneOf"] = [
        {"required": [key], "properties": {key: {"not": {"type": "null"}}}} for key in ("table", "query", "query_file")
    ]
    destination = definitions["ExportModel"]["properties"]["destination"]
    if registry is not None:
        _add_plugins(definitions, "SourceModel", registry.sources, registry)
        _add_plugins(definitions, "DestinationModel", registry.destinations, registry)
        destination["if"], destination["then"] = {"required": ["type"]}, {"$ref": _REF.format(model="DestinationModel")}
    return {"$schema": DIALECT, "title": "rivet.yaml", **schema, "$defs": dict(sorted(definitions.items()))}


def _finish(schema: Schema) -> None:
    """Drop what says nothing to a person, and allow a reference wherever a value is not text."""
    schema.pop("title", None)
    for name, field in schema.get("properties", {}).items():
        field.pop("title", None)
        if field.get("default", ...) is None:
            del field["default"]
        schema["properties"][name] = _or_reference(field)


def _or_reference(field: Schema) -> Schema:
    kinds = [option for option in field.get("anyOf", [field]) if option.get("type") != "null"]
    if all(kind.get("type") in {"array", "object"} or "$ref" in kind or _is_text(kind) for kind in kinds):
        return field
    outer: Schema = {key: field[key] for key in ("description", "default") if key in field}
    inner = {key: value for key, value in field.items() if key not in outer}
    return {**outer, "anyOf": [*inner.get("anyOf", [inner]), copy.deepcopy(_REFERENCE)]}


def _is_text(kind: Schema) -> bool:
    return kind.get("type") == "string" and "enum" not in kind and "pattern" not in kind


def _add_plugins(definitions: Schema, base: str, offered: Mapping[str, Any], registry: Offers) -> None:
    """Make the keys under `base` depend on `type`: the plugin's own besides the shared ones, and no others."""
    shared = definitions[base]
    choices: list[Schema] = []
    for kind in sorted(offered):
        options = registry.resolve(offered[kind].record.options).model_json_schema(
            ref_template=_REF.replace("{model}", f"{base}.{kind}.{{model}}")
        )
        for name, nested in options.pop("$defs", {}).items():
            _finish(nested)
            definitions[f"{base}.{kind}.{name}"] = nested
        _finish(options)
        options["properties"] = {**options.get("properties", {}), **copy.deepcopy(shared["properties"])}
        definitions[f"{base}.{kind}"] = options
        choices.append({"if": {"properties": {"type": {"const": kind}}}, "then": {"$ref": _REF.format(model=f"{base}.{kind}")}})
    shared["properties"]["type"]["examples"] = sorted(offered)
    shared["allOf"] = choices
