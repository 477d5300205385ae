"""The size signals of one table and of one delta: which say anything, in what order, in which unit."""

from __future__ import annotations

from math import isfinite

from rivet_core.facts import Basis, DeltaFacts, Evidence, ExportFacts, Mode, UnitKind
from rivet_core.planning.confidence import seconds_between
from rivet_core.planning.runs import RunSummary, ended_at

ASSUMED_WIDTH = 160
"""Bytes per row when nobody knows the width."""
MEASURED_DAYS = 30

_UNITS = {"kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def number(evidence: Evidence | None) -> int | None:
    """Return the value in whole bytes or rows, `None` when it is none or unusable (negative, not a number)."""
    if evidence is None:
        return None
    value, unit = evidence.value, _UNITS.get(evidence.unit, 1)
    if type(value) is int:
        return value * unit if value >= 0 else None
    if type(value) is float:
        return int(value * unit) if isfinite(value) and value >= 0 else None
    return None


def usable(evidence: Evidence) -> bool:
    """Whether a size signal says anything. A zero counts only where it was measured: in a catalog it means unknown."""
    value = number(evidence)
    return value is not None and (value > 0 or evidence.basis in (Basis.LIVE, Basis.HISTORY, Basis.DECLARED))


def reads_delta(facts: ExportFacts) -> bool:
    """Whether the mode reads only a part of the table that time or a cursor bounds."""
    return facts.spec.mode in (Mode.INCREMENTAL, Mode.TIME_WINDOW)


def measured_rows(facts: ExportFacts, runs: RunSummary) -> Evidence | None:
    """Return the row count of the newest full read, when it is younger than 30 days."""
    if reads_delta(facts):
        return None
    run = next((run for run in runs.timed if run.rows is not None and run.rows > 0), None)
    if run is None or seconds_between(ended_at(run), facts.as_of) > MEASURED_DAYS * 86400:
        return None
    return Evidence(
        signal="table_rows",
        value=run.rows,
        unit="rows",
        source="last full run",
        observed_at=ended_at(run),
        quality=95,
        basis=Basis.HISTORY,
    )


def row_signals(facts: ExportFacts, runs: RunSummary) -> list[Evidence]:
    """Return every usable signal of the table's rows, the one in use first.

    A measured count goes before catalog figures that are coarse (quality under 70) or older than it.
    """
    found = [evidence for evidence in facts.table.rows if usable(evidence)]
    measured = measured_rows(facts, runs)
    if measured is None:
        return found
    first = found[0] if found else None
    newer = first is not None and first.observed_at is not None and first.observed_at > (measured.observed_at or facts.as_of)
    if first is not None and first.quality >= 70 and newer:
        return [*found, measured]
    return [measured, *found]


def row_width(facts: ExportFacts, rows: int | None, size: int | None) -> tuple[int, bool]:
    """Return the bytes of one row, and whether they are known: bytes over rows, else the statistics', else an assumption."""
    if rows and size:
        return max(1, size // rows), True
    if facts.table.avg_width is not None and facts.table.avg_width > 0:
        return facts.table.avg_width, True
    return ASSUMED_WIDTH, False


def delta_size(facts: ExportFacts, delta_rows: int, rows: int | None, size: int | None) -> int:
    """Return the bytes of the delta by the same width, without rounding it first."""
    if rows and size:
        return delta_rows * size // rows
    return delta_rows * row_width(facts, rows, size)[0]


def deltas(facts: ExportFacts) -> list[DeltaFacts]:
    """Every estimate of the delta that says anything, the one in use first."""
    found = (facts.delta, _delta_of_units(facts))
    return [one for one in found if one is not None and (number(one.rows) is not None or number(one.bytes) is not None)]


def _delta_of_units(facts: ExportFacts) -> DeltaFacts | None:
    """The delta that the source estimated while it cut the units (from a histogram of the column), when every one is known."""
    units = [unit for unit in facts.units if unit.kind in (UnitKind.WINDOW, UnitKind.CURSOR)]
    if not units or any(unit.rows is None for unit in units):
        return None
    return DeltaFacts(
        rows=Evidence(
            signal="delta_rows",
            value=sum(unit.rows or 0 for unit in units),
            unit="rows",
            source="estimate of the units",
            observed_at=facts.table.statistics_at,
            quality=50,
            basis=Basis.STATISTICS,
            changes=facts.table.changes_since_statistics,
        )
    )
