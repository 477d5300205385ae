"""The JSON Schema of the plan file."""

from __future__ import annotations

from typing import Any

from rivet_core.artifact.model import Plan


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every plan file satisfies."""
    schema = Plan.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Rivet plan file"}
