"""Rows that change or vanish after they were read (RV401, RV402, RV403).

Counters of writes say how much a table moves. Rates come from two snapshots when there are two, else from the counters since
they were last reset. Counters of a standby are its own and are not used.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.rules.signals import catalog, counter
from rivet_core.facts import ExportFacts, Mode, Reason, Role, TableFacts, TypeKind
from rivet_core.planning.confidence import seconds_between
from rivet_core.planning.cursors import tracks_updates
from rivet_core.planning.ranges import range_column
from rivet_core.planning.taxonomy import TAXONOMY, reason
from rivet_core.planning.wording import count_text
from rivet_core.planning.work import select_work

DAY = 86400
SHORTEST_SPAN = 3600
"""Rates over less than an hour of counting say little about a day."""


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons about updates and deletes."""
    if facts.server.role is Role.STANDBY:
        return ()
    return [found for found in (_updated(facts), _deleted(facts), _cursor_moves(facts)) if found is not None]


def updates_per_day(facts: ExportFacts) -> int | None:
    """Return the updated rows per day, from two snapshots or from counters with a known start; `None` when unknown."""
    table, before = facts.table, facts.previous
    if table.updates is None:
        return None
    new = _since_before(table, before, table.updates, None if before is None else before.updates)
    if new is not None and facts.previous_at is not None:
        span = seconds_between(facts.previous_at, facts.as_of)
        if span >= SHORTEST_SPAN:
            return new * DAY // span
    if table.counters_since is None:
        return None
    span = seconds_between(table.counters_since, facts.as_of)
    return table.updates * DAY // span if span >= SHORTEST_SPAN else None


def _since_before(table: TableFacts, before: TableFacts | None, now: int | None, then: int | None) -> int | None:
    """Return what one counter counted since the earlier snapshot, `None` when it was reset or went back in between."""
    if before is None or now is None or then is None or now < then or table.counters_since != before.counters_since:
        return None
    return now - then


def _updated(facts: ExportFacts) -> Reason | None:
    work = select_work(facts)
    evidence, rows, daily = work.table_rows, work.rows, updates_per_day(facts)
    if evidence is None or not rows or daily is None or daily * 20 <= rows:
        return None
    points = min(TAXONOMY["RV401"].points, 100 * daily // rows)
    return reason(
        "RV401",
        f"About {min(999, daily * 100 // rows)} % of the rows are updated per day ({count_text(daily)} rows).",
        points=points,
        evidence=[counter(facts, "updates_per_day", daily), evidence],
        remedy="a cursor that moves with updates (updated_at)",
    )


def _deleted(facts: ExportFacts) -> Reason | None:
    deletes = facts.table.deletes
    if facts.spec.mode is not Mode.INCREMENTAL or not deletes:
        return None
    before, at = facts.previous, facts.previous_at
    new = _since_before(facts.table, before, deletes, None if before is None else before.deletes)
    recent = "" if new is None or at is None else f", {count_text(new)} of them since {at:%Y-%m-%d %H:%M}"
    return reason(
        "RV402",
        f"{count_text(deletes)} deletes counted{recent}; an incremental export never sees them.",
        evidence=[counter(facts, "deletes", deletes)],
        remedy="soft deletes, mode: full, or reconcile_required: true",
        potential=TAXONOMY["RV402"].points,
    )


def _cursor_moves(facts: ExportFacts) -> Reason | None:
    name, updates = range_column(facts), facts.table.updates
    column = facts.table.column(name) if name else None
    if column is None or not updates or column.kind not in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.DATE):
        return None
    if not tracks_updates(column.name, column.default) or facts.spec.snapshot == "consistent":
        return None
    return reason(
        "RV403",
        f"Updates move {column.name}: rows can change place while they are read.",
        evidence=[counter(facts, "updates", updates), catalog(f"{column.name}.default", column.default or "none")],
        remedy="snapshot: consistent",
        potential=TAXONOMY["RV403"].points,
    )
