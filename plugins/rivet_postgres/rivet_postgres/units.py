"""What to read: the units of one export, from its mode and the facts of its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from rivet_core.errors import ConfigError
from rivet_core.facts import Mark, Mode, ReadSpec, TableFacts, TypeKind, Unit, UnitKind
from rivet_core.sql.cursor_plan import cursor_units, plan_cursor
from rivet_core.sql.windows import time_column, unix_edge, window_units
from rivet_postgres.chunks import Keys, chunk_units
from rivet_postgres.dialect import POSTGRES


def plan_units(
    spec: ReadSpec,
    committed: Sequence[Mark],
    facts: Callable[[], TableFacts],
    keys: Callable[[TableFacts, str], Keys],
    sample: Callable[[Sequence[str], int, int], Sequence[tuple[str, ...]]],
) -> tuple[Unit, ...]:
    """Return the units of one run. `facts`, `keys` and `sample` ask the server, and only modes that need them call them."""
    if spec.mode is Mode.FULL:
        return (Unit(index=0, kind=UnitKind.WHOLE),)
    table = facts()
    if table.problem:
        raise ConfigError(f"{spec.export}: {table.problem}", hint=table.remedy)
    if spec.mode is Mode.INCREMENTAL:
        plan = plan_cursor(spec, table)
        outside = POSTGRES.outside_time(plan.kind, spec.out_of_range or "")
        return cursor_units(spec, replace(plan, nullable=plan.nullable or outside is not None), committed)
    if spec.mode is Mode.TIME_WINDOW:
        return day_windows(spec, table, datetime.now(UTC))
    return chunk_units(spec, table, lambda column: keys(table, column), sample)


def day_windows(spec: ReadSpec, table: TableFacts, now: datetime) -> tuple[Unit, ...]:
    """Return one unit for each UTC day that the last `days_window` times 24 hours touch, today's included.

    Raises `ConfigError` when the time column is missing or of a type that is neither time nor, for `unix`, integer.
    """
    column = time_column(spec, table)
    spell = _spelling(spec, column.kind, f"{spec.export}: the time column {column.name} is {column.source_type}")
    return window_units(spec, column, spell, now.date())


def _spelling(spec: ReadSpec, kind: TypeKind, what: str) -> Callable[[date], str]:
    if spec.time_column_type == "unix":
        if kind is not TypeKind.INTEGER:
            raise ConfigError(f"{what}, not an integer of unix seconds", hint="set `time_column_type: timestamp`")
        return unix_edge
    formats = {TypeKind.DATE: "%Y-%m-%d", TypeKind.TIMESTAMP: "%Y-%m-%d %H:%M:%S", TypeKind.TIMESTAMPTZ: "%Y-%m-%d %H:%M:%S+00"}
    if kind not in formats:
        raise ConfigError(f"{what}, which is no time", hint="name a date or timestamp column, or set `time_column_type: unix`")
    return lambda day: day.strftime(formats[kind])
