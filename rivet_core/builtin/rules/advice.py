"""A better way to read the export, when metadata shows one (RV111), and what must run alone (RV901)."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.rules.signals import declared
from rivet_core.facts import ExportFacts, Reason
from rivet_core.planning.suggest import Suggestion, suggest
from rivet_core.planning.taxonomy import reason


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the suggestion when it differs from the config, and the declared gate."""
    found: list[Reason] = []
    advice = suggest(facts)
    if advice.better:
        found.append(reason("RV111", advice.why, evidence=advice.evidence, remedy=as_config(advice)))
    if facts.spec.parallel_safe is False:
        text = "Declared not parallel safe: runs alone among the exports so declared."
        found.append(reason("RV901", text, evidence=[declared("parallel_safe", False)]))
    return found


def as_config(advice: Suggestion) -> str:
    """Return the suggestion as the lines of a config."""
    lines = [f"mode: {advice.mode}"]
    if advice.cursor:
        lines.append(f"cursor_column: {advice.cursor}")
    if advice.chunk_by:
        lines.append(f"chunk_column: {advice.chunk_by}")
    lines.append(f"tuning: {{profile: {advice.profile}}}")
    return ", ".join(lines)
