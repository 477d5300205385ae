"""What the config declares about value (RV503, RV504, RV510): consumers, a deadline, a tier."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from rivet_core.builtin.rules.signals import declared
from rivet_core.facts import ExportFacts, Reason, Tier
from rivet_core.planning.taxonomy import TAXONOMY, reason
from rivet_core.planning.wording import moment_text
from rivet_core.planning.work import select_work
from rivet_core.scheduling.deadlines import is_near, next_deadline

MOST_FOR_CONSUMERS = 16
TIER_POINTS = {Tier.LOW: -20, Tier.NORMAL: 0, Tier.HIGH: 30}


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons of declared value."""
    value = facts.spec.value
    found: list[Reason] = []
    if value.consumers:
        found.append(
            reason(
                "RV503",
                f"{', '.join(value.consumers)} {'waits' if len(value.consumers) == 1 else 'wait'} for it.",
                points=min(MOST_FOR_CONSUMERS, TAXONOMY["RV503"].points * len(value.consumers)),
                evidence=[declared("consumers", len(value.consumers))],
            )
        )
    moment = next_deadline(value.deadline, facts.as_of) if value.deadline else None
    if moment is not None and is_near(value.deadline, facts.as_of, facts.window_seconds):
        seconds = select_work(facts).p90_seconds
        left = (moment - facts.as_of).total_seconds()
        when = "it should have started already"
        if seconds < left:
            when = f"latest start {moment_text(moment - timedelta(seconds=seconds))}"
        found.append(
            reason(
                "RV504",
                f"Must land by {moment_text(moment)}; {when}.",
                evidence=[declared("deadline", value.deadline), declared("expected_seconds_p90", seconds, "s")],
            )
        )
    if value.tier is not None:
        found.append(
            reason(
                "RV510",
                f"Declared tier {value.tier}.",
                points=TIER_POINTS[value.tier],
                evidence=[declared("tier", str(value.tier))],
            )
        )
    return found
