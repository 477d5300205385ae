"""How fresh an export is against its declared target."""

from __future__ import annotations

from rivet_core.facts import ExportFacts
from rivet_core.planning.confidence import PRIOR, seconds_between

SUCCESS_QUALITY = 95


def freshness_confidence(facts: ExportFacts) -> int:
    """Return how far the value is supported: 100 without a target, else whether the last success is known."""
    if facts.spec.value.freshness_seconds is None:
        return 100
    return PRIOR if facts.last_success is None else SUCCESS_QUALITY


def age_seconds(facts: ExportFacts) -> int | None:
    """Return the age of the last successful run, `None` when there was none."""
    return None if facts.last_success is None else seconds_between(facts.last_success, facts.as_of)
