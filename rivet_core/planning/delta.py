"""How much an incremental or windowed export is expected to move. Never the table's size, and never taken for it."""

from __future__ import annotations

from datetime import datetime, timedelta

from rivet_core.facts import Basis, DeltaFacts, Evidence, ExportFacts, Mode, RunFact
from rivet_core.planning.measure import width_of

RUNS_LOOKED_AT = 5
MIN_GAP = timedelta(minutes=1)
"""Runs closer together say nothing about a rate."""


def expected_delta(facts: ExportFacts) -> DeltaFacts | None:
    """Return the expected delta: rows per second between past runs of this export, times the time since the last one.

    `None` when nothing is known: no run yet, or a mode that reads everything.
    """
    if facts.spec.mode is Mode.INCREMENTAL:
        return _by_rate(facts) if facts.committed else None
    if facts.spec.mode is Mode.TIME_WINDOW:
        return _by_last_window(facts)
    return None


def _by_rate(facts: ExportFacts) -> DeltaFacts | None:
    runs = _comparable(facts)
    if len(runs) < 2 or facts.last_success is None:
        return None
    recent = runs[: RUNS_LOOKED_AT + 1]
    gap = recent[0].started_at - recent[-1].started_at
    if gap < MIN_GAP:
        return None
    rows = sum(run.rows or 0 for run in recent[:-1])
    expected = round(rows * max(0.0, (facts.as_of - facts.last_success) / gap))
    return _delta(facts, expected, f"rate over the last {len(recent) - 1} runs", recent[0].started_at)


def _by_last_window(facts: ExportFacts) -> DeltaFacts | None:
    runs = _comparable(facts)
    if not runs or runs[0].rows is None:
        return None
    return _delta(facts, runs[0].rows, "the last window", runs[0].started_at)


def _comparable(facts: ExportFacts) -> list[RunFact]:
    return [
        run
        for run in facts.history
        if run.status == "succeeded" and run.fingerprint == facts.fingerprint and run.rows is not None
    ]


def _delta(facts: ExportFacts, rows: int, source: str, at: datetime) -> DeltaFacts:
    def evidence(signal: str, value: int, unit: str) -> Evidence:
        return Evidence(signal=signal, value=value, unit=unit, source=source, observed_at=at, quality=80, basis=Basis.HISTORY)

    return DeltaFacts(rows=evidence("delta_rows", rows, "rows"), bytes=evidence("delta_bytes", rows * width_of(facts), "B"))
