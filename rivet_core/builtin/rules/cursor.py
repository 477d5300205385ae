"""How far the cursor can be trusted to find every new row (RV301-RV310).

Points are given only where the mode reads by the column: incremental and time-window exports. For other modes the same facts
about the best candidate are listed without points, beside the suggestion.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.classifiers import TIMES, is_random_key
from rivet_core.builtin.rules.signals import catalog, declared, live, statistic
from rivet_core.facts import ColumnFacts, CursorQuality, CursorVerdict, Evidence, ExportFacts, Mode, Reason
from rivet_core.planning.ranges import cursor_mode, cursor_ref, leads
from rivet_core.planning.remedies import create_index
from rivet_core.planning.taxonomy import TAXONOMY, reason
from rivet_core.planning.wording import fraction_text
from rivet_core.planning.work import select_work

LEAST_LOOKBACK = 600
FEW_VALUES = 1000
"""A cursor with more rows per value than this is coarse."""
NULLS_UNKNOWN_POINTS = 6
_DATABASE_CLOCK = ("now()", "current_timestamp", "clock_timestamp", "statement_timestamp", "localtimestamp", "getdate")


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons about the cursor, or about the best candidate when the mode has none."""
    ref = cursor_ref(facts.spec)
    scored = ref is not None
    verdict = facts.cursor
    if facts.spec.query is not None and not scored:
        return ()
    found: list[Reason] = []
    if facts.spec.mode is Mode.TIME_WINDOW:
        days = facts.spec.days_window
        found.append(
            reason(
                "RV310",
                f"Bounded by time: the last {days} days of {facts.spec.time_column}; its order weighs freshness against cost.",
                evidence=[declared("days_window", days, "d")],
            )
        )
    if verdict is None or verdict.quality is CursorQuality.NONE:
        found.append(_reason(scored, "RV307", "No column can mark progress: every run is full.", (), remedy=_ADD_CURSOR))
        return found
    if verdict.quality is CursorQuality.STRONG_MONOTONIC:
        text = f"{verdict.columns[0]} grows, is unique, and leads an index."
        late = "Smaller values can still commit later; a lookback covers that." if not facts.spec.lookback_seconds else ""
        found.append(_reason(scored, "RV301", text, _quality(verdict), caveat=late))
    ambiguous = verdict.quality is CursorQuality.WEAK_MULTI_CANDIDATE
    if ambiguous:
        text = f"Which of {', '.join(verdict.columns)} marks progress is ambiguous."
        found.append(_reason(scored, "RV309", text, _quality(verdict), remedy="declare one cursor_column"))
    name = ref.columns[0] if ref is not None else verdict.columns[0]
    column = facts.table.column(name)
    if column is not None:
        found.extend(_column_reasons(facts, column, scored))
    return found


def _quality(verdict: CursorVerdict) -> list[Evidence]:
    """The verdict in one line; the facts behind it stand with the export's cursor, once."""
    return [catalog(f"{'+'.join(verdict.columns)}.cursor_quality", str(verdict.quality))]


_ADD_CURSOR = "add an updated_at column, set by the database, with an index"


def _reason(
    scored: bool,
    code: str,
    text: str,
    evidence: Sequence[Evidence],
    *,
    points: int | None = None,
    caveat: str = "",
    remedy: str = "",
    won: bool = False,
) -> Reason:
    worth = TAXONOMY[code].points if points is None else points
    return reason(
        code,
        text,
        points=worth,
        evidence=evidence,
        caveat=caveat,
        remedy=remedy,
        potential=worth if scored and won else 0,
        info=not scored,
    )


def _column_reasons(facts: ExportFacts, column: ColumnFacts, scored: bool) -> list[Reason]:
    found: list[Reason] = []
    table, name, spec = facts.table, column.name, facts.spec
    unique = table.is_unique(name)
    incremental = spec.mode is Mode.INCREMENTAL
    coalesced = incremental and cursor_mode(spec) == "coalesce" and spec.cursor_fallback_column is not None
    lookback = _lookback(facts)
    covered = bool(spec.lookback_seconds)
    if not unique:
        found.append(_not_unique(facts, column, scored, covered, lookback))
    if column.nullable and column.null_frac != 0 and not (coalesced and _fallback_fills(facts)):
        found.append(_nullable(facts, column, scored))
    if not leads(table, name) or coalesced:
        remedy = "" if spec.query else create_index(table, facts.server, name)
        text = (
            f"{name} is not the first column of any usable index." if not coalesced else "A COALESCE cannot use a plain index."
        )
        found.append(_reason(scored, "RV304", text, [catalog(f"{name}.leads_index", False)], remedy=remedy, won=True))
    coarse = _coarse(facts, column) if not unique else None
    if coarse is not None and not (scored and covered):
        text, evidence = coarse
        found.append(_reason(scored, "RV305", text, evidence, remedy=f"finer precision, or {lookback}", won=True))
    if column.kind in TIMES and not _set_by_database(column) and not (scored and covered):
        evidence = [catalog(f"{name}.default", column.default or "none")]
        oldest = facts.server.oldest_transaction_seconds
        if oldest:
            evidence.append(live(facts, "oldest_transaction", oldest, "s", quality=50))
        text = f"{name} is set by the application: rows that commit late can land behind the cursor."
        found.append(_reason(scored, "RV306", text, evidence, remedy=lookback, won=True))
    if is_random_key(column):
        text = f"{name} is a random key, not ordered by time."
        found.append(
            _reason(
                scored,
                "RV308",
                text,
                [catalog(f"{name}.type", column.source_type)],
                remedy="uuid v7, or a time column",
                won=True,
            )
        )
    return found


def _lookback(facts: ExportFacts) -> str:
    """The lookback that RV306 proposes: ten minutes, or as long as the oldest open transaction."""
    oldest = facts.server.oldest_transaction_seconds or 0
    minutes = max(LEAST_LOOKBACK, -(-int(oldest) // 60) * 60) // 60
    return f"lookback: {minutes}m"


def _not_unique(facts: ExportFacts, column: ColumnFacts, scored: bool, covered: bool, lookback: str) -> Reason:
    name, spec = column.name, facts.spec
    evidence = [catalog(f"{name}.unique", False)]
    if spec.mode is Mode.TIME_WINDOW:
        return reason("RV302", f"Rows can share one {name}; a window takes all of them.", evidence=evidence, info=True)
    paired = spec.incremental_cursor_mode == "pair" or bool(facts.table.primary_key)
    if scored and (paired or covered):
        how = "the key breaks ties (pair cursor)" if paired else "the lookback reads them again"
        return reason("RV302", f"Rows can share one {name}; {how}.", evidence=evidence, info=True)
    if facts.table.primary_key:
        how = "a pair cursor with the primary key would break ties"
        return reason("RV302", f"Rows can share one {name}; {how}.", evidence=evidence, info=True)
    return _reason(
        scored,
        "RV302",
        f"Rows can share one {name}, and no key tells them apart: the edge is delivered again.",
        evidence,
        remedy=f"incremental_cursor_mode: pair with a unique key, or {lookback}",
        won=True,
    )


def _nullable(facts: ExportFacts, column: ColumnFacts, scored: bool) -> Reason:
    name = column.name
    evidence: list[Evidence] = [catalog(f"{name}.nullable", True)]
    remedy = f"ALTER COLUMN {name} SET NOT NULL, cursor_fallback_column, or null_cursor"
    if column.null_frac is None:
        text = f"{name} can be NULL; how often is unknown."
        return _reason(scored, "RV303", text, evidence, points=NULLS_UNKNOWN_POINTS, remedy=remedy, won=True)
    evidence.append(statistic(facts, column, "null_frac", column.null_frac))
    text = f"{name} is NULL in {fraction_text(column.null_frac)} of the rows, which a plain bound never picks up."
    return _reason(scored, "RV303", text, evidence, remedy=remedy, won=True)


def _fallback_fills(facts: ExportFacts) -> bool:
    fallback = facts.table.column(facts.spec.cursor_fallback_column or "")
    return fallback is not None and not fallback.nullable


def _coarse(facts: ExportFacts, column: ColumnFacts) -> tuple[str, list[Evidence]] | None:
    name = column.name
    if column.kind in TIMES and column.kind.value == "date":
        return f"{name} is a date: all rows of a day tie.", [catalog(f"{name}.type", column.source_type)]
    if column.kind in TIMES and column.precision == 0:
        return f"{name} keeps whole seconds only: ties at the edge are likely.", [catalog(f"{name}.precision", 0)]
    work = select_work(facts)
    rows, count, distinct = work.table_rows, work.rows, column.n_distinct
    if distinct is None or not count or rows is None:
        return None
    values = distinct if distinct > 0 else -distinct * count
    if values * FEW_VALUES >= count:
        return None
    text = f"{name} has only about {max(1, int(values)):,} distinct values."
    return text, [statistic(facts, column, "n_distinct", distinct), rows]


def _set_by_database(column: ColumnFacts) -> bool:
    default = (column.default or "").lower()
    return column.generated in ("stored", "virtual") or any(word in default for word in _DATABASE_CLOCK)
