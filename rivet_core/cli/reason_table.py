"""The table of reasons as `rivet schema reasons` prints it."""

from __future__ import annotations

from typing import Any

from rivet_core.planning.taxonomy import TAXONOMY, TAXONOMY_VERSION, schema_rows
from rivet_core.render.columns import align


def reasons_as_json() -> dict[str, Any]:
    """Return `{"version", "reasons": [...]}`."""
    return {"version": TAXONOMY_VERSION, "reasons": schema_rows()}


def reasons_as_text() -> str:
    """Return one line per code."""
    rows = [("code", "dimension", "family", "points", "title", "trigger")]
    rows += [
        (
            entry.code,
            str(entry.dimension)
            if entry.dimension is not None
            else entry.scope
            if entry.scope == "campaign"
            else str(entry.kind),
            entry.family,
            entry.formula or f"{entry.points:+d}",
            entry.title,
            entry.trigger,
        )
        for entry in TAXONOMY.values()
    ]
    return "\n".join(align(rows))
