"""How much work an export is (RV101-RV103, RV105-RV107, RV109, RV110, RV801).

One signal sets the base of cost, chosen by its kind and never by its value: own run times first, then the work a query's plan
scans, the expected delta of an incremental or windowed read, the table's bytes, its rows, and 55 points when nothing is
known. Other size signals are shown beside it with 0 points, so that one size is never counted five times.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.facts import Evidence, ExportFacts, Reason, RelationKind
from rivet_core.planning.confidence import seconds_between
from rivet_core.planning.curve import MIB, REFERENCE_RATE, UNKNOWN_POINTS
from rivet_core.planning.remedies import analyze
from rivet_core.planning.sizes import number, reads_delta
from rivet_core.planning.taxonomy import reason
from rivet_core.planning.wording import factor_text, rows_text, size_text, span_text
from rivet_core.planning.work import Work, select_work

SMALL_BYTES = 64 * MIB
SMALL_ROWS = 100_000
NOW_SECONDS = 60


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the base of cost, what corroborates it, and what the size says besides."""
    work = select_work(facts)
    found = [_base(facts, work)]
    second = _second_signals(facts, work)
    if second:
        found.append(_agreement(work, second))
    table = facts.table
    if table.kind is RelationKind.PARTITIONED or table.partitions:
        largest = f"; the largest is {table.largest_partition}" if table.largest_partition else ""
        count = f"{len(table.partitions)} partitions" if table.partitions else "Partitioned"
        found.append(reason("RV106", f"{count}{largest}.", remedy="export by partition"))
    size, rows = work.size, work.rows
    if size is not None and rows is not None and size < SMALL_BYTES and rows < SMALL_ROWS:
        held = [evidence for evidence in (work.table_bytes, work.table_rows) if evidence is not None]
        early = "; cheap early" if work.bytes < SMALL_BYTES else ""
        found.append(reason("RV110", f"Small: {size_text(size)} and {rows_text(rows)}{early}.", evidence=held))
    return found


def _base(facts: ExportFacts, work: Work) -> Reason:
    if work.code == "RV101" and work.run_ms is not None:
        low, middle, high = (millis / 1000 for millis in work.run_ms)
        count = len(work.runs.timed)
        message = (
            f"The last {count} runs took {span_text(middle)} ({span_text(low)} to {span_text(high)}), scaled to today's size."
        )
        return reason("RV101", message, points=work.points, evidence=work.evidence, caveat=_age(facts, work))
    if work.code == "RV107":
        return reason(
            "RV107",
            f"The query's plan scans about {size_text(work.bytes)}, whatever it returns.",
            points=work.points,
            evidence=work.evidence,
            caveat="An estimate of the server's planner.",
        )
    if work.code == "RV105":
        return reason("RV105", _delta_message(work), points=work.points, evidence=work.evidence, caveat=_age(facts, work))
    if work.code == "RV102":
        return reason(
            "RV102",
            f"About {size_text(work.bytes)} of heap and out-of-line values to read.",
            points=work.points,
            evidence=work.evidence,
            caveat=" ".join(text for text in (_whole_for_delta(facts), _age(facts, work)) if text),
        )
    if work.code == "RV103":
        rows = work.rows or 0
        width = "a known" if work.width_known else "an assumed"
        return reason(
            "RV103",
            f"About {rows_text(rows)} at {width} width of {work.width} B: {size_text(work.bytes)}.",
            points=work.points,
            evidence=work.evidence,
            caveat=" ".join(text for text in (_whole_for_delta(facts), _age(facts, work)) if text),
            remedy="" if work.width_known else analyze(facts.table, facts.server),
        )
    remedy = facts.table.grants[0] if facts.table.grants else "" if facts.spec.query else analyze(facts.table, facts.server)
    return reason(
        "RV801",
        "Size unknown: treated as fairly large until measured.",
        remedy=remedy,
        potential=UNKNOWN_POINTS,
        caveat="Knowing the size wins up to 55 points when it is small; a very large table will cost more.",
    )


def _delta_message(work: Work) -> str:
    delta = size_text(work.bytes)
    rows = "" if work.delta_rows is None else f" ({rows_text(work.delta_rows)})"
    size, table_rows = work.size, work.rows
    if size is not None:
        whole = f"the table itself holds {size_text(size)}"
    elif table_rows is not None:
        whole = f"the table itself holds {rows_text(table_rows)}"
    else:
        whole = "the table's own size is unknown"
    return f"About {delta}{rows} expected in this read; {whole}."


def _whole_for_delta(facts: ExportFacts) -> str:
    return "The delta is unknown, so the whole table is counted." if reads_delta(facts) else ""


def _age(facts: ExportFacts, work: Work) -> str:
    """Say how old the first evidence is, and what changed since; nothing when it was read just now."""
    first = work.evidence[0] if work.evidence else None
    if first is None or first.observed_at is None:
        return ""
    seconds = seconds_between(first.observed_at, facts.as_of)
    if seconds < NOW_SECONDS:
        return ""
    age, rows = span_text(seconds), work.rows
    if first.changes and rows:
        return f"By {first.source}, {age} old; {first.changes * 100 // rows} % of the rows written since."
    return f"By {first.source}, {age} old."


def _second_signals(facts: ExportFacts, work: Work) -> list[tuple[int, str, Evidence]]:
    """Return `(bytes, words, evidence)` of every other signal of the same quantity as the base."""
    size = work.size
    found: list[tuple[int, str, Evidence]] = []
    if work.code == "RV101":
        other = work.delta_bytes if reads_delta(facts) else size
        evidence = work.evidence[-1] if len(work.evidence) > 3 else work.table_bytes
        if other is not None and evidence is not None:
            found.append((other, f"{size_text(other)} by {evidence.source}", evidence))
    if work.code == "RV102":
        for evidence in facts.table.bytes:
            value = number(evidence)
            if evidence is not work.table_bytes and value:
                found.append((value, f"{size_text(value)} by {evidence.source}", evidence))
        rows, width = work.rows, facts.table.avg_width
        if rows and width and work.table_rows is not None:
            found.append((rows * width, f"{size_text(rows * width)} by {rows_text(rows)} of {width} B", work.table_rows))
    return found


def _agreement(work: Work, second: Sequence[tuple[int, str, Evidence]]) -> Reason:
    used = max(1, work.bytes)
    parts = [f"{words} ({_apart(used, value)})" for value, words, _ in second]
    base = f"{span_text(used // REFERENCE_RATE)} of work" if work.code == "RV101" else size_text(used)
    return reason(
        "RV109",
        f"Beside the {base} in use: {'; '.join(parts)}.",
        evidence=[evidence for _, _, evidence in second],
    )


def _apart(used: int, value: int) -> str:
    larger, smaller = max(used, value), max(1, min(used, value))
    return "agrees" if larger * 10 <= smaller * 11 else f"{factor_text(larger, smaller)} {'more' if value > used else 'less'}"
