"""What the config and the last run's columns add (RV404, RV606).

Columns that differ from those of the last run can fail or change types downstream. A required reconcile reads the source a
second time, so it counts as cost and as risk.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.rules.signals import catalog, declared
from rivet_core.facts import ExportFacts, Reason
from rivet_core.planning.taxonomy import reason

MOST_LISTED = 6


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons of drifted columns and of a required reconcile."""
    found: list[Reason] = []
    changes = column_changes(facts)
    if changes:
        listed = ", ".join(changes[:MOST_LISTED]) + (
            f" and {len(changes) - MOST_LISTED} more" if len(changes) > MOST_LISTED else ""
        )
        found.append(
            reason(
                "RV404",
                f"Columns changed since the last run: {listed}.",
                evidence=[catalog("column_changes", len(changes))],
                remedy="review the types (rivet check)",
            )
        )
    if facts.spec.reconcile_required:
        evidence = [declared("reconcile_required", True)]
        found.append(
            reason("RV606", "A reconcile is required: the source is read a second time.", evidence=evidence, second=True)
        )
        found.append(
            reason("RV606", "A reconcile is required: a run counts as verified only when it agrees.", evidence=evidence)
        )
    return found


def column_changes(facts: ExportFacts) -> list[str]:
    """Return what differs from the last run's columns, in words: `+new type`, `-gone`, `name old -> new`."""
    if facts.previous_columns is None or not facts.table.columns:
        return []
    wanted = set(facts.spec.columns)
    before = dict(facts.previous_columns)
    now = {column.name: column.source_type for column in facts.table.columns if not wanted or column.name in wanted}
    changes = [f"+{name} {kind}" for name, kind in now.items() if name not in before]
    changes += [f"-{name}" for name in before if name not in now]
    changes += [f"{name} {before[name]} -> {kind}" for name, kind in now.items() if name in before and before[name] != kind]
    return changes
