"""What it is worth to read an export soon (RV501, RV502, RV505, RV706).

Age against the declared target, whether anything changed since the last success, a narrow window at the fresh end of a table,
and a replica that is itself further behind than the target.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.rules.signals import counter, declared, history, live
from rivet_core.facts import ExportFacts, Mode, Reason, Role
from rivet_core.planning.freshness import age_seconds
from rivet_core.planning.runs import last_start
from rivet_core.planning.taxonomy import reason
from rivet_core.planning.wording import span_text

LEAST, MOST = -20, 40
NARROW_DAYS = 7


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons about freshness."""
    return [found for found in (_age(facts), _unchanged(facts), _narrow(facts), _lag(facts)) if found is not None]


def _age(facts: ExportFacts) -> Reason | None:
    target, age = facts.spec.value.freshness_seconds, age_seconds(facts)
    if target is None or age is None:
        return None
    goal = max(1, int(target))
    over = 20 * (age - goal)
    points = over // goal if over >= 0 else -(-over // goal)
    state = "older than" if age > goal else "within"
    return reason(
        "RV501",
        f"The last success is {span_text(age)} old, {state} the target of {span_text(goal)}.",
        points=min(MOST, max(LEAST, points)),
        evidence=[declared("freshness", target, "s"), history(facts, "age_of_last_success", age, "s")],
    )


def _unchanged(facts: ExportFacts) -> Reason | None:
    """Two snapshots with equal counters, the first taken before the last success began; never on a standby."""
    table, before, at = facts.table, facts.previous, facts.previous_at
    if before is None or at is None or facts.last_success is None or facts.server.role is Role.STANDBY:
        return None
    now = (table.inserts, table.updates, table.deletes)
    began = last_start(facts.history, facts.last_success) or facts.last_success
    if None in now or at > began or table.counters_since != before.counters_since:
        return None
    if now != (before.inserts, before.updates, before.deletes):
        return None
    writes = sum(count or 0 for count in now)
    return reason(
        "RV502",
        "No writes since the last success, by the server's counters.",
        evidence=[counter(facts, "writes", writes), history(facts, "last_success", facts.last_success.isoformat())],
        caveat="Counters can be lost in a crash; they prove nothing.",
        remedy="skip this run",
    )


def _narrow(facts: ExportFacts) -> Reason | None:
    days = facts.spec.days_window
    if facts.spec.mode is not Mode.TIME_WINDOW or days is None or days > NARROW_DAYS:
        return None
    return reason(
        "RV505", f"A window of {days} days: the fresh end of the table.", evidence=[declared("days_window", days, "d")]
    )


def _lag(facts: ExportFacts) -> Reason | None:
    lag, target = facts.server.replica_lag_seconds, facts.spec.value.freshness_seconds
    if lag is None or target is None or lag <= target:
        return None
    return reason(
        "RV706",
        f"The replica is {span_text(lag)} behind, more than the target of {span_text(target)}.",
        evidence=[live(facts, "replica_lag", lag, "s", quality=70), declared("freshness", target, "s")],
        remedy="wait, or read another replica",
    )
