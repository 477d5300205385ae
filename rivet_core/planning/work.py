"""How much work an export is: one signal chosen by kind, never by value, and what else is known beside it.

Every number that the plan derives from size (cost, heavy, estimates, latest starts) comes from the one `Work` made here.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivet_core.facts import Basis, Evidence, ExportFacts, RelationKind, Role
from rivet_core.planning.confidence import PRIOR, confidence_of, interval_percent
from rivet_core.planning.curve import MIB, REFERENCE_RATE, UNKNOWN_POINTS, UNKNOWN_WORK, curve
from rivet_core.planning.runs import RunSummary, duration_ms, percentile, summarize
from rivet_core.planning.sizes import delta_size, deltas, number, reads_delta, row_signals, row_width, usable

__all__ = ["Work", "number", "select_work", "size_signals"]

BOUND_CAP = 30
"""What the table's own size is worth as a signal of a delta: an upper bound only."""
SMALLEST_SCALE = 64 * MIB
"""Run times are scaled in proportion from this size on; below it their overhead dominates and growth is added instead."""
_PLANNED_KINDS = (RelationKind.QUERY, RelationKind.VIEW, RelationKind.FOREIGN)
"""What has no size of its own: its work is what the server's plan scans."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one export, in bytes, with its origin.

    `code` is the base reason that stands for it and `points` what it earns, `bytes` the expected work, `p90_bytes` the
    pessimistic side, `confidence` 0..100. Sizes of the table and of the delta are `None` when unknown; `bytes` never is.
    """

    code: str
    bytes: int
    p90_bytes: int
    confidence: int
    evidence: tuple[Evidence, ...]
    runs: RunSummary
    points: int
    table_bytes: Evidence | None
    table_rows: Evidence | None
    size: int | None
    """The value of `table_bytes`."""
    rows: int | None
    """The value of `table_rows`."""
    delta_rows: int | None
    delta_bytes: int | None
    delta_evidence: tuple[Evidence, ...]
    width: int
    width_known: bool
    run_ms: tuple[int, int, int] | None = None
    """p10, p50 and p90 of the run time in milliseconds, scaled to today's size, where history is the measure."""

    @property
    def known(self) -> bool:
        """Whether any signal of the size exists."""
        return self.code != "RV801"

    @property
    def seconds(self) -> int:
        """Expected seconds at the reference rate, at least one."""
        return max(1, self.bytes // REFERENCE_RATE)

    @property
    def p90_seconds(self) -> int:
        """Pessimistic seconds at the reference rate, at least one."""
        return max(1, self.p90_bytes // REFERENCE_RATE)


def size_signals(facts: ExportFacts, work: Work) -> tuple[Evidence, ...]:
    """Return every signal that the work and the sizes beside it were computed from, for a reason to cite."""
    found = [*work.evidence[:1], *work.delta_evidence]
    found += [one for one in (work.table_bytes, work.table_rows) if one is not None and one not in found]
    width = facts.table.avg_width
    if width:
        found.append(Evidence(signal="avg_width", value=width, unit="B", source="catalog", observed_at=None, quality=99))
    return tuple(dict.fromkeys(found))


_last: tuple[ExportFacts, Work] | None = None


def select_work(facts: ExportFacts) -> Work:
    """Return the work of an export by the hierarchy RV101 > RV107 > RV105 > RV102 > RV103 > RV801.

    Several rules ask for it, so the newest answer is kept: it is a pure function of a frozen snapshot.
    """
    global _last
    kept = _last
    if kept is not None and kept[0] is facts:
        return kept[1]
    work = _select(facts)
    _last = (facts, work)
    return work


def _select(facts: ExportFacts) -> Work:
    table = facts.table
    runs = summarize(facts)
    rows_found = row_signals(facts, runs)
    bytes_found = [evidence for evidence in table.bytes if usable(evidence)]
    rows = rows_found[0] if rows_found else None
    size = bytes_found[0] if bytes_found else None
    row_count, byte_count = number(rows), number(size)
    trusted = facts.server.role is not Role.STANDBY
    # The rows that the change counters speak about are the catalog's own, never a count from elsewhere.
    counted = next((number(evidence) for evidence in table.rows if usable(evidence)), None)

    def support(evidence: Evidence) -> int:
        return confidence_of(evidence, facts.as_of, rows=counted, trust_changes=trusted)

    delta_mode = reads_delta(facts)
    width, width_known = row_width(facts, row_count, byte_count)
    estimates = deltas(facts) if delta_mode else []
    delta = estimates[0] if estimates else None
    delta_rows = number(delta.rows) if delta is not None else None
    delta_bytes = number(delta.bytes) if delta is not None else None
    delta_evidence = [
        e for e in ((delta.bytes, delta.rows) if delta is not None else ()) if e is not None and number(e) is not None
    ]
    if delta_bytes is None and delta_rows is not None:
        delta_bytes = delta_size(facts, delta_rows, row_count, byte_count)

    supports = [support(e) if not delta_mode else min(BOUND_CAP, support(e)) for e in bytes_found]
    supports += [_row_support(support(e), bool(table.avg_width), delta_mode) for e in rows_found]
    supports += [support(e) for one in estimates for e in (one.bytes, one.rows) if e is not None and number(e) is not None]
    scan = table.scan_bytes if table.kind in _PLANNED_KINDS and table.scan_bytes and usable(table.scan_bytes) else None
    if scan is not None:
        supports.append(support(scan))

    code, work = "RV801", UNKNOWN_WORK
    evidence: tuple[Evidence, ...] = ()
    run_ms: tuple[int, int, int] | None = None
    if runs.enough:
        now = delta_bytes if delta_mode else byte_count
        run_ms = _run_times(runs, now, width, delta_mode)
        code, work = "RV101", run_ms[1] * REFERENCE_RATE // 1000
        evidence = _history_evidence(runs, run_ms, size if not delta_mode else None, delta_evidence)
        supports.append(_history_support(facts, runs, byte_count, delta_mode))
    elif scan is not None:
        code, work, evidence = "RV107", number(scan) or 0, (scan,)
    elif delta_bytes is not None:
        extra = tuple(e for e in (size or rows,) if e is not None)
        code, work, evidence = "RV105", delta_bytes, (*delta_evidence, *extra)
    elif byte_count is not None and size is not None:
        code, work, evidence = "RV102", byte_count, (size,)
    elif row_count is not None and rows is not None:
        code, work, evidence = "RV103", row_count * width, (rows,)
    confidence = max(supports, default=PRIOR)
    # A whole table that stands for its unknown delta is an upper bound: its own support decides how far it may be off.
    whole = delta_mode and code in ("RV102", "RV103") and evidence
    pessimistic = work * interval_percent(support(evidence[0]) if whole else confidence) // 100
    if run_ms is not None:
        pessimistic = max(pessimistic, run_ms[2] * REFERENCE_RATE // 1000)
    return Work(
        code=code,
        bytes=work,
        p90_bytes=pessimistic,
        confidence=confidence,
        evidence=evidence,
        runs=runs,
        points=UNKNOWN_POINTS if code == "RV801" else curve(work),
        table_bytes=size,
        table_rows=rows,
        size=byte_count,
        rows=row_count,
        delta_rows=delta_rows,
        delta_bytes=delta_bytes,
        delta_evidence=tuple(delta_evidence),
        width=width,
        width_known=width_known,
        run_ms=run_ms,
    )


def _row_support(support: int, width_known: bool, delta_mode: bool) -> int:
    """Rows alone say less about bytes when the width is assumed, and only bound a delta."""
    if delta_mode:
        return min(BOUND_CAP, support)
    return support if width_known else min(40, support)


def _run_times(runs: RunSummary, now: int | None, width: int, delta_mode: bool) -> tuple[int, int, int]:
    """p10, p50 and p90 of the run times in milliseconds, each scaled from its own size to today's."""
    scaled = []
    for run in runs.timed:
        millis = duration_ms(run)
        then = (run.rows * width if run.rows is not None and run.rows >= 0 else None) if delta_mode else run.table_bytes
        if now is not None and then is not None and then >= 0:
            if not delta_mode and then >= SMALLEST_SCALE:
                millis = millis * now // then
            else:
                millis += max(0, now - then) * 1000 // REFERENCE_RATE
        scaled.append(max(1, millis))
    scaled.sort()
    return percentile(scaled, 10), percentile(scaled, 50), percentile(scaled, 90)


def _history_evidence(
    runs: RunSummary, times: tuple[int, int, int], size: Evidence | None, delta: list[Evidence]
) -> tuple[Evidence, ...]:
    source = f"{len(runs.timed)} runs"
    measured = tuple(
        Evidence(
            signal=f"run_seconds_{name}",
            value=millis / 1000,
            unit="s",
            source=source,
            observed_at=runs.newest,
            quality=95,
            basis=Basis.HISTORY,
        )
        for name, millis in zip(("p50", "p10", "p90"), (times[1], times[0], times[2]), strict=True)
    )
    return (*measured, *(() if size is None else (size,)), *delta)


def _history_support(facts: ExportFacts, runs: RunSummary, byte_count: int | None, delta_mode: bool) -> int:
    """Quality 95, half-life 30 days, scaled by how much the table has grown or shrunk since, to a half at the least.

    Run times are scaled to today's size, so even much growth leaves half; so does a size that is known no longer.
    """
    assert runs.newest is not None  # noqa: S101 - `enough` implies a newest run
    base = confidence_of(
        Evidence(
            signal="run_seconds", value=None, unit="s", source="", observed_at=runs.newest, quality=95, basis=Basis.HISTORY
        ),
        facts.as_of,
    )
    then = runs.timed[0].table_bytes
    if delta_mode or not then:
        return base
    if not byte_count:
        return max(PRIOR, base // 2)
    return max(PRIOR, base // 2, base * min(then, byte_count) // max(then, byte_count))
