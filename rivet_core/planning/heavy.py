"""Whether an export counts as heavy for its source group: a capacity fact, decided on the pessimistic side."""

from __future__ import annotations

from rivet_core.facts import ExportFacts
from rivet_core.planning.confidence import interval_percent
from rivet_core.planning.curve import GIB, curve
from rivet_core.planning.ranges import range_column, range_is_indexed
from rivet_core.planning.suggest import HEAVY_POINTS, table_size
from rivet_core.planning.wording import size_text
from rivet_core.planning.work import Work

SCAN_LIMIT = GIB
"""A range read without an index is heavy from this much table on."""


def is_heavy(facts: ExportFacts, work: Work) -> tuple[bool, str]:
    """Return whether the export is heavy, and why in words (empty when it is not)."""
    declared = facts.spec.heavy
    if declared is not None:
        return declared, "declared heavy" if declared else ""
    if not work.known:
        return True, "its size is unknown"
    if curve(work.p90_bytes) >= HEAVY_POINTS:
        return True, f"it may be {size_text(work.p90_bytes)} of work"
    if range_column(facts) is not None and not range_is_indexed(facts):
        size = table_size(work)
        scanned = max(work.p90_bytes, 0 if size is None else size * interval_percent(work.confidence) // 100)
        if size is None or scanned >= SCAN_LIMIT:
            return True, f"{range_column(facts)} leads no index, so each part scans the table"
    return False, ""
