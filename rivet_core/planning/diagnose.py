"""A verdict in one word and the warnings worth reading before a run. Diagnostics never gate anything (PA8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rivet_core.facts import CursorQuality, ExportFacts, Mode, Reason, TypeKind, UnitKind
from rivet_core.planning.confidence import confidence_word
from rivet_core.planning.fold import Scores
from rivet_core.planning.ranges import range_column, range_is_indexed
from rivet_core.planning.suggest import table_size
from rivet_core.planning.wording import size_text
from rivet_core.planning.work import Work

FEW_VALUES = 1000
"""A chunk column with fewer distinct values is worth a warning."""


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """`verdict` is `efficient`, `acceptable`, `degraded` or `unsafe`; `warnings` are sentences."""

    verdict: str
    warnings: tuple[str, ...]


def diagnose(
    facts: ExportFacts, work: Work, scores: Scores, confidence: Scores, heavy: bool, reasons: Sequence[Reason]
) -> Diagnostics:
    """Return the diagnostics of one judged export."""
    indexed = range_is_indexed(facts)
    if heavy and not indexed:
        verdict = "unsafe"
    elif not indexed or not work.known or scores.risk >= 50:
        verdict = "degraded"
    elif scores.risk >= 25 or scores.cost >= 50 or heavy:
        verdict = "acceptable"
    else:
        verdict = "efficient"
    return Diagnostics(verdict, tuple(_warnings(facts, work, confidence, indexed)))


def _warnings(facts: ExportFacts, work: Work, confidence: Scores, indexed: bool) -> list[str]:
    found: list[str] = []
    spec, column_name = facts.spec, range_column(facts)
    if not indexed and column_name is not None:
        size = table_size(work)
        held = "a table of unknown size" if size is None else f"a table of {size_text(size)}"
        found.append(f"No index leads with {column_name}: every read of a range scans {held}.")
    if spec.mode is Mode.INCREMENTAL and spec.cursor_column is not None:
        column = facts.table.column(spec.cursor_column)
        if column is not None and column.kind is TypeKind.TEXT:
            found.append(f"{column.name} is text: the server's collation is its only order, and '9' sorts after '11'.")
        if column is not None and column.kind is TypeKind.UUID and not _ordered_uuid(facts):
            found.append(f"{column.name} is a uuid: random ids are not monotonic, new rows can land behind the cursor.")
        if not spec.lookback_seconds:
            found.append(
                f"Without a lookback, a row whose {spec.cursor_column} is taken early and committed late "
                "lands behind the cursor and is never read."
            )
    if spec.mode is Mode.CHUNKED and column_name is not None:
        values = _distinct_values(facts, work, column_name)
        if values is not None and values < FEW_VALUES:
            key = ", ".join(facts.table.primary_key)
            further = f"; the whole key ({key}) splits further" if key not in ("", column_name) else ""
            found.append(
                f"{column_name} has about {values:,} distinct values: units by it alone hold at least one each{further}."
            )
    if spec.mode is Mode.CHUNKED:
        found.extend(_repeated_key(facts, work))
    if not work.known:
        found.append("The size is unknown: it is treated as fairly large and heavy until measured.")
    elif confidence.cost < 40:
        found.append(f"The size is supported only {confidence_word(confidence.cost)}ly (confidence {confidence.cost} of 100).")
    found.extend(facts.table.notes)
    return found


def _repeated_key(facts: ExportFacts, work: Work) -> list[str]:
    """More rows than numbers between a key's ends: the key repeats, and the span is no count of rows."""
    ranges = [unit for unit in facts.units if unit.kind is UnitKind.RANGE and len(unit.columns) == 1]
    bounds = [mark.value for unit in ranges for mark in (*unit.lower, *unit.upper)]
    if work.rows is None or len(bounds) < 2 or not all(value.lstrip("-").isdigit() for value in bounds):
        return []
    span = max(map(int, bounds)) - min(map(int, bounds))
    inner = sum(unit.rows or 0 for unit in ranges if unit.lower and unit.upper)
    if span <= 0 or inner <= span:
        return []
    return [
        f"{ranges[0].columns[0]} repeats: about {inner:,} rows lie among {span:,} values, "
        f"so {work.rows:,} rows by the catalog are counted, not the span of the key."
    ]


def _distinct_values(facts: ExportFacts, work: Work, name: str) -> int | None:
    """Distinct values of a column; a negative statistic is a share of the rows."""
    column = facts.table.column(name)
    distinct = None if column is None else column.n_distinct
    if distinct is None:
        return None
    if distinct < 0:
        return None if work.rows is None else max(1, round(-distinct * work.rows))
    return max(1, round(distinct))


def _ordered_uuid(facts: ExportFacts) -> bool:
    return facts.cursor is not None and facts.cursor.quality is CursorQuality.STRONG_MONOTONIC
