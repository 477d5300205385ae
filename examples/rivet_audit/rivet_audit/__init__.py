"""Adds points to tables by their name."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.api import ScoringRule, hookimpl


@hookimpl
def rivet_scoring_rules() -> Sequence[ScoringRule]:
    """Called once, when plugins are loaded. The references are imported on first use."""
    return [
        ScoringRule(
            name="audit",
            summary="Adds points to tables by their name",
            codes=("X-audit-001",),
            dimension="value",
            score="rivet_audit.rule:score",
            options="rivet_audit.rule:Options",
        )
    ]
