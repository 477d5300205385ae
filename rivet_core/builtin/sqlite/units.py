"""What to read: the units of each mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from rivet_core.builtin.sqlite import chunks
from rivet_core.builtin.sqlite.connection import Connection
from rivet_core.builtin.sqlite.cursor import NUMBERS, TEXTS, TIMES, look_back, trusted_key
from rivet_core.builtin.sqlite.schema import Table
from rivet_core.errors import ConfigError
from rivet_core.facts import Mark, Mode, ReadSpec, TableFacts, TypeKind, Unit, UnitKind
from rivet_core.sql.cursor_plan import CursorPlan, cursor_units, plan_cursor
from rivet_core.sql.deltas import with_rows
from rivet_core.sql.windows import time_column, unix_edge, window_units


def units_of(
    connection: Connection,
    spec: ReadSpec,
    facts: TableFacts,
    table: Table | None,
    committed: Sequence[Mark],
    *,
    today: date | None = None,
) -> tuple[Unit, ...]:
    """Return the units of `spec`. Raises `ConfigError` when it cannot be read this way."""
    if spec.snapshot == "consistent" and spec.mode is Mode.CHUNKED:
        raise ConfigError(
            f"{spec.export}: SQLite has no snapshot that several units could share",
            hint="use `mode: full`: it is one statement in one transaction, so it is consistent",
        )
    match spec.mode:
        case Mode.FULL:
            return (Unit(index=0, kind=UnitKind.WHOLE),)
        case Mode.INCREMENTAL:
            units = incremental(spec, facts, table, committed)
            return with_rows(units, _past(connection, spec, table, units))
        case Mode.CHUNKED:
            return chunks.tiles(connection, spec, facts, table)
        case Mode.TIME_WINDOW:
            return windows(spec, facts, today or datetime.now(UTC).date())


def cursor_plan(spec: ReadSpec, facts: TableFacts, table: Table | None) -> CursorPlan:
    """Return the order an incremental export is read in."""
    return plan_cursor(spec, trusted_key(facts, table))


def incremental(spec: ReadSpec, facts: TableFacts, table: Table | None, committed: Sequence[Mark]) -> tuple[Unit, ...]:
    """Return the rows past the cursor, and those without one."""
    plan = cursor_plan(spec, facts, table)
    if plan.kind is TypeKind.UUID and not spec.allow_text_cursor:
        raise ConfigError(
            f"{spec.export}: the cursor {plan.columns[0]} is a uuid kept as text",
            hint="use a number or time column, or set `allow_text_cursor: true` if its byte order is meant",
        )
    units = cursor_units(replace(spec, lookback_seconds=None), plan, committed)
    if spec.lookback_seconds and committed:
        if plan.kind not in TIMES:
            raise ConfigError(
                f"{spec.export}: lookback needs a date or timestamp cursor, {plan.columns[0]} is {committed[0].type}",
                hint="leave out `lookback`, or choose a time column as the cursor",
            )
        back = look_back(committed[0], plan.kind, spec.lookback_seconds)
        units = (replace(units[0], lower=(back,), lower_inclusive=True), *units[1:])
    return units


def _past(connection: Connection, spec: ReadSpec, table: Table | None, units: Sequence[Unit]) -> int | None:
    """Return how many rowids lie past the cursor where the cursor is the rowid, by one step to its end; else `None`."""
    lower = units[0].lower
    if table is None or not lower or spec.cursor != (table.rowid_alias,):
        return None
    ends = chunks.Explorer(connection, table.relation.name, table.rowid_alias).ends()
    return 0 if ends is None else max(0, ends[1] - int(lower[0].value))


def windows(spec: ReadSpec, facts: TableFacts, today: date) -> tuple[Unit, ...]:
    """Return one unit per day (UTC), from `days_window` days ago to the end of today.

    Text columns are cut at `YYYY-MM-DD`, which sorts right before every ISO time of that day, with a blank or a T.
    """
    column = time_column(spec, facts)
    unix = spec.time_column_type == "unix"
    if column.kind not in (TIMES | (NUMBERS if unix else TEXTS - {TypeKind.UUID})):
        raise ConfigError(
            f"{spec.export}: the time column {column.name} is declared {column.source_type or 'without a type'}",
            hint="use `time_column_type: unix` for numbers and `timestamp` for ISO text",
        )
    return window_units(spec, column, unix_edge if unix else date.isoformat, today)
