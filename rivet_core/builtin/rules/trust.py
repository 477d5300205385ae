"""Why a number is less certain than it looks (RV802-RV806). No points: they say what would raise the confidence."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.rules.signals import catalog, counter, history
from rivet_core.facts import Basis, Evidence, ExportFacts, Reason, RelationKind, Role
from rivet_core.planning.confidence import seconds_between
from rivet_core.planning.remedies import analyze
from rivet_core.planning.sizes import number, row_signals, usable
from rivet_core.planning.taxonomy import reason
from rivet_core.planning.wording import count_text, factor_text, size_text, span_text
from rivet_core.planning.work import Work, select_work

STALE_SECONDS = 7 * 86400
STALE_SHARE = 20
"""Percent of the rows written since the statistics were taken."""
DISAGREE = 3
FRESH_QUALITY = 80
OLD_HISTORY = 30 * 86400
FEW_RUNS = 3
_ANALYZABLE = (RelationKind.TABLE, RelationKind.PARTITIONED, RelationKind.MATERIALIZED_VIEW)


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons about trust."""
    work = select_work(facts)
    found = [
        _stale(facts, work),
        *_disagreements(facts, work),
        _grants(facts),
        _local_counters(facts),
        _thin_history(facts, work),
    ]
    return [one for one in found if one is not None]


def _stale(facts: ExportFacts, work: Work) -> Reason | None:
    table = facts.table
    if table.kind not in _ANALYZABLE:
        return None
    wins = f"It would lift the confidence of the cost from {work.confidence} to about {FRESH_QUALITY}."
    caveat = wins if work.confidence < FRESH_QUALITY else ""
    sampled = next((evidence for evidence in table.rows if usable(evidence)), None)
    if sampled is not None and sampled.basis is not Basis.STATISTICS:
        return None
    remedy = analyze(table, facts.server)
    if sampled is None:
        never = "No statistics: the table was never analyzed, or they cannot be read."
        return reason("RV802", never, evidence=[catalog("statistics", None)], caveat=caveat, remedy=remedy)
    rows, changes = number(sampled) or 0, sampled.changes
    if changes is not None and facts.server.role is not Role.STANDBY:
        if changes * 100 <= STALE_SHARE * rows:
            return None
        text = f"{changes * 100 // max(1, rows)} % of the rows were written since the statistics were taken."
        cited = [sampled, counter(facts, "changes_since_statistics", changes)]
        return reason("RV802", text, evidence=cited, caveat=caveat, remedy=remedy)
    if sampled.observed_at is None:
        return reason("RV802", "The age of the statistics is unknown.", evidence=[sampled], caveat=caveat, remedy=remedy)
    age = seconds_between(sampled.observed_at, facts.as_of)
    if age <= STALE_SECONDS:
        return None
    return reason("RV802", f"The statistics are {span_text(age)} old.", evidence=[sampled], caveat=caveat, remedy=remedy)


def _disagreements(facts: ExportFacts, work: Work) -> list[Reason | None]:
    sizes = [evidence for evidence in facts.table.bytes if usable(evidence)]
    return [
        _disagreement(row_signals(facts, work.runs), work.table_rows, "rows", count_text),
        _disagreement(sizes, work.table_bytes, "bytes", size_text),
    ]


def _disagreement(signals: Sequence[Evidence], used: Evidence | None, what: str, words: object) -> Reason | None:
    assert callable(words)  # noqa: S101 - for the type checker
    values = [(number(evidence) or 0, evidence) for evidence in signals]
    if used is None or len(values) < 2:
        return None
    low, high = min(value for value, _ in values), max(value for value, _ in values)
    if high <= DISAGREE * max(1, low):
        return None
    said = ", ".join(f"{words(value)} by {evidence.source}" for value, evidence in values)
    chosen = f"{words(number(used) or 0)} by {used.source}"
    return reason(
        "RV803",
        f"Sources of the {what} disagree by {factor_text(high, low)}: {said}. In use: {chosen}.",
        evidence=[evidence for _, evidence in values],
        remedy="measure once: one run counts the rows",
    )


def _grants(facts: ExportFacts) -> Reason | None:
    grants = tuple(dict.fromkeys((*facts.table.grants, *facts.server.grants)))
    if not grants:
        return None
    return reason(
        "RV804",
        f"{len(grants)} right{'' if len(grants) == 1 else 's'} missing; some signals are unknown.",
        remedy="; ".join(grants),
    )


def _local_counters(facts: ExportFacts) -> Reason | None:
    if facts.server.role is not Role.STANDBY:
        return None
    return reason(
        "RV805",
        "Write counters of a standby are its own and are ignored; sizes and statistics come from the primary.",
        evidence=[catalog("role", str(facts.server.role))],
        remedy="read the counters on the primary",
    )


def _thin_history(facts: ExportFacts, work: Work) -> Reason | None:
    count, newest = len(work.runs.timed), work.runs.newest
    if newest is None:
        return None
    age = seconds_between(newest, facts.as_of)
    if count >= FEW_RUNS and age <= OLD_HISTORY:
        return None
    return reason(
        "RV806",
        f"The history is thin: {count} usable {'run' if count == 1 else 'runs'}, the newest {span_text(age)} old.",
        evidence=[history(facts, "runs", count), history(facts, "age_of_newest_run", age, "s")],
    )
