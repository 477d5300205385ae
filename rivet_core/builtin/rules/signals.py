"""Evidence as core rules cite it: facts of the schema, counters, statistics, live readings, and what the config declares."""

from __future__ import annotations

from rivet_core.facts import Basis, ColumnFacts, Evidence, ExportFacts, Json
from rivet_core.planning.work import select_work

CATALOG_QUALITY = 99
COUNTER_QUALITY = 60
STATISTICS_QUALITY = 70


def declared(signal: str, value: str | float | bool | None, unit: str = "") -> Evidence:
    """Return what the config says: quality 100, never ages."""
    return Evidence(signal=signal, value=value, unit=unit, source="config", observed_at=None, quality=100, basis=Basis.DECLARED)


def catalog(signal: str, value: str | float | bool | None, unit: str = "") -> Evidence:
    """Return a fact of the schema."""
    return Evidence(signal=signal, value=value, unit=unit, source="catalog", observed_at=None, quality=CATALOG_QUALITY)


def counter(facts: ExportFacts, signal: str, value: int | float | None, unit: str = "rows") -> Evidence:
    """Return an activity counter of the server, counted until now."""
    return Evidence(
        signal=signal,
        value=value,
        unit=unit,
        source="activity counters",
        observed_at=facts.server.observed_at or facts.as_of,
        quality=COUNTER_QUALITY,
        basis=Basis.STATISTICS,
    )


def statistic(facts: ExportFacts, column: ColumnFacts, signal: str, value: float | None) -> Evidence:
    """Return a sampled statistic of a column."""
    return Evidence(
        signal=f"{column.name}.{signal}",
        value=value,
        unit="",
        source="statistics",
        observed_at=facts.table.statistics_at,
        quality=STATISTICS_QUALITY,
        basis=Basis.STATISTICS,
        changes=facts.table.changes_since_statistics,
    )


def live(facts: ExportFacts, signal: str, value: Json, unit: str = "", quality: int = 90) -> Evidence:
    """Return a reading of the server at one moment."""
    plain = value if isinstance(value, int | float | str | bool) else None
    return Evidence(
        signal=signal,
        value=plain,
        unit=unit,
        source="server",
        observed_at=facts.server.observed_at,
        quality=quality,
        basis=Basis.ACTIVITY,
    )


def history(facts: ExportFacts, signal: str, value: str | float | None, unit: str = "") -> Evidence:
    """Return something that Rivet's own run history says."""
    return Evidence(
        signal=signal,
        value=value,
        unit=unit,
        source="run history",
        observed_at=select_work(facts).runs.latest,
        quality=95,
        basis=Basis.HISTORY,
    )
