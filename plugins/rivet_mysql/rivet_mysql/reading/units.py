"""What to read: the units of each mode."""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from rivet_core.errors import ConfigError
from rivet_core.facts import ColumnFacts, Mark, Mode, ReadSpec, TableFacts, TypeKind, Unit, UnitKind
from rivet_core.sql.cursor_plan import CursorPlan, cursor_units, plan_cursor
from rivet_core.sql.marks import MICROS_PER_DAY, micros_near
from rivet_core.sql.querytext import ALIAS
from rivet_core.sql.ranges import SPARSE, integer_cuts, tile, tile_keys, unit_count
from rivet_core.sql.windows import check_days, day_cuts, time_column, unix_edge, window_units
from rivet_mysql.connection import Link, number, text
from rivet_mysql.dialect import MYSQL
from rivet_mysql.reading.sampling import Explorer
from rivet_mysql.reading.statement import page_positions
from rivet_mysql.types import charset_of

TIMES = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ})


def units_of(
    link: Link, spec: ReadSpec, facts: TableFacts, committed: Sequence[Mark], *, today: date | None = None
) -> tuple[Unit, ...]:
    """Return the units of `spec`. Raises `ConfigError` when it cannot be read this way."""
    match spec.mode:
        case Mode.FULL:
            return (Unit(index=0, kind=UnitKind.WHOLE),)
        case Mode.INCREMENTAL:
            return cursor_units(spec, cursor_plan(spec, facts), committed)
        case Mode.CHUNKED:
            return _chunks(link, spec, facts)
        case Mode.TIME_WINDOW:
            return _windows(spec, facts, today or datetime.now(UTC).date())


def cursor_plan(spec: ReadSpec, facts: TableFacts) -> CursorPlan:
    """Return the order an incremental export is read in."""
    for name in spec.cursor:
        column = facts.column(name)
        if column is not None and column.source_type.lower().startswith(("enum", "set")):
            raise ConfigError(
                f"{spec.export}: the cursor {name} is {column.source_type.partition('(')[0]},"
                " which sorts by the member's number and not by its text",
                hint="use a number or time column",
            )
    plan = plan_cursor(spec, facts)
    return replace(plan, nullable=plan.nullable or MYSQL.outside_time(plan.kind, spec.out_of_range or "") is not None)


def _chunks(link: Link, spec: ReadSpec, facts: TableFacts) -> tuple[Unit, ...]:
    """Return ranges of the primary key; one unit, read in pages where it can be, when the table has none that can be cut.

    Units over any other column would not be safe: an update moves a row from one to another, and no two connections of this
    engine share a snapshot.
    """
    whole = (Unit(index=0, kind=UnitKind.WHOLE),)
    key = [column for name in facts.primary_key if (column := facts.column(name)) is not None]
    asked = _asked(spec, facts, key)
    if spec.chunk_by_days and asked is not None and spec.snapshot != "consistent":
        return _days(link, spec, facts, asked)
    positions = page_positions(spec, whole[0], facts)
    if not positions or (asked is not None and asked.name != key[0].name):
        return whole
    if len(key) == 1 and key[0].kind is TypeKind.INTEGER:
        ends, rows = _ends(link, facts, key[0])
        if ends is None:
            return whole
        low, high = ends
        rows = None if rows is None else min(max(rows, 1), high - low + 1)
        units = unit_count(rows, spec.chunk_size, spec.chunk_count)
        if rows is None or high - low < rows * SPARSE or units == 1:
            cuts = integer_cuts(low=low, high=high, units=units, rows=rows)
            return tile(key[0].name, key[0].source_type, [str(cut) for cut in cuts], rows=rows)
    else:
        units = unit_count(_estimate(link, facts), spec.chunk_size, spec.chunk_count)
    lossy = [position.collation for position in positions if position.collation]
    if units == 1 or any(charset_of(collation) == "swe7" for collation in lossy):  # which has not all of ASCII
        return whole
    bounds, found = Explorer(link, facts, [replace(position, collation="") for position in positions]).cuts(units)
    if lossy and any("?" in mark.value for bound in bounds for mark in bound):
        return whole  # perhaps no question mark but a byte without a letter, which sorts elsewhere
    return tile_keys([position.name for position in positions], bounds, found // (len(bounds) + 1))


def _asked(spec: ReadSpec, facts: TableFacts, key: Sequence[ColumnFacts]) -> ColumnFacts | None:
    """Return the column that the config wants to chunk by; for days the key's first one where it names none."""
    if spec.chunk_column is None:
        if spec.chunk_by_days and not key:
            raise ConfigError(f"{spec.export}: {facts.name} has no primary key to chunk by", hint="use `mode: full`")
        return key[0] if spec.chunk_by_days else None
    column = facts.column(spec.chunk_column)
    if column is None:
        raise ConfigError(
            f"{spec.export}: {spec.table or 'the query'} has no column {spec.chunk_column!r}",
            hint=f"its columns are: {', '.join(c.name for c in facts.columns[:12])}",
        )
    return column


def _days(link: Link, spec: ReadSpec, facts: TableFacts, column: ColumnFacts) -> tuple[Unit, ...]:
    """Return ranges of days of the primary key's first column, which has to be a date or time."""
    check_days(spec, column)
    if column.name != (facts.primary_key or ("",))[0]:
        raise ConfigError(
            f"{spec.export}: {column.name} is no key, so a row could move between units while they are read",
            hint="chunk by the primary key, or use `mode: time_window` for the last days",
        )
    name, table = f"{ALIAS}.{MYSQL.quote(column.name)}", MYSQL.qualified((facts.schema, facts.relation))
    rows = link.rows(
        f"SELECT CAST(MIN({name}) AS CHAR), CAST(MAX({name}) AS CHAR) FROM {table} AS {ALIAS}",
        doing=f"looking at the ends of {facts.relation}.{column.name}",
    )
    ends = [micros_near(text(value)) // MICROS_PER_DAY for value in rows[0] if value is not None]
    cuts = day_cuts(column.kind, ends[0], ends[1], spec.chunk_by_days or 1) if ends else ()
    return tile(column.name, column.source_type, cuts)


def _ends(link: Link, facts: TableFacts, key: ColumnFacts) -> tuple[tuple[int, int] | None, int | None]:
    """Return the key's two ends (one look at each end of the index) and the estimated rows."""
    column = MYSQL.quote(key.name)
    table = MYSQL.qualified((facts.schema, facts.relation))
    low, high, rows = link.rows(
        f"SELECT (SELECT MIN({column}) FROM {table}), (SELECT MAX({column}) FROM {table}), ({_estimated(facts)})",
        doing=f"looking at the ends of {facts.relation}.{key.name}",
    )[0]
    first, last = number(low), number(high)
    return (None if first is None or last is None else (first, last)), number(rows)


def _estimate(link: Link, facts: TableFacts) -> int | None:
    return number(link.rows(_estimated(facts), doing=f"asking how large {facts.relation} is")[0][0])


def _estimated(facts: TableFacts) -> str:
    return (
        "SELECT TABLE_ROWS FROM information_schema.TABLES"
        f" WHERE TABLE_SCHEMA = {MYSQL.string(facts.schema)} AND TABLE_NAME = {MYSQL.string(facts.relation)}"
    )


def _windows(spec: ReadSpec, facts: TableFacts, today: date) -> tuple[Unit, ...]:
    """Return one unit per day (UTC), from `days_window` days ago to the end of today."""
    column = time_column(spec, facts)
    unix = spec.time_column_type == "unix"
    if column.kind not in ({TypeKind.INTEGER, TypeKind.DECIMAL, TypeKind.FLOAT} if unix else TIMES):
        raise ConfigError(
            f"{spec.export}: the time column {column.name} is {column.source_type}",
            hint="use `time_column_type: unix` for numbers and `timestamp` for dates and times",
        )
    clock = {TypeKind.DATE: "", TypeKind.TIMESTAMPTZ: " 00:00:00+00"}.get(column.kind, " 00:00:00")
    return window_units(spec, column, unix_edge if unix else lambda day: f"{day.isoformat()}{clock}", today)
