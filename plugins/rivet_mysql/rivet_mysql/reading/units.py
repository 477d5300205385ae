"""What to read: the units of each mode."""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from rivet_core.errors import ConfigError
from rivet_core.facts import ColumnFacts, Mark, Mode, ReadSpec, TableFacts, TypeKind, Unit, UnitKind
from rivet_core.sql.cursor_plan import CursorPlan, cursor_units, plan_cursor
from rivet_core.sql.ranges import integer_cuts, tile, unit_count
from rivet_mysql.connection import Link, number
from rivet_mysql.dialect import MYSQL

TIMES = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ})
_DEFAULT_DAYS = 1


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
    return plan_cursor(spec, facts)


def _chunks(link: Link, spec: ReadSpec, facts: TableFacts) -> tuple[Unit, ...]:
    """Return ranges of the primary key's first column when it is an integer; else one unit, read in pages along the key.

    Units over any other column would not be safe: an update moves a row from one to another, and no two connections of this
    engine share a snapshot.
    """
    if spec.chunk_column is not None and facts.column(spec.chunk_column) is None:
        raise ConfigError(
            f"{spec.export}: {spec.table or 'the query'} has no column {spec.chunk_column!r}",
            hint=f"its columns are: {', '.join(c.name for c in facts.columns[:12])}",
        )
    whole = (Unit(index=0, kind=UnitKind.WHOLE),)
    leading = facts.column(facts.primary_key[0]) if facts.primary_key else None
    integer = leading is not None and leading.kind is TypeKind.INTEGER and not leading.source_type.startswith("bit")
    if leading is None or not integer or spec.snapshot == "consistent" or spec.chunk_column not in (None, leading.name):
        return whole
    ends, rows = _ends(link, facts, leading)
    if ends is None:
        return whole
    low, high = ends
    estimate = None if rows is None else min(max(rows, 1), high - low + 1) if len(facts.primary_key) == 1 else rows
    wanted = unit_count(estimate, spec.chunk_size, spec.chunk_count)
    cuts = integer_cuts(low=low, high=high, units=wanted, rows=estimate)
    return tile(leading.name, leading.source_type, [str(cut) for cut in cuts], rows=estimate)


def _ends(link: Link, facts: TableFacts, key: ColumnFacts) -> tuple[tuple[int, int] | None, int | None]:
    """Return the key's two ends (one look at each end of the index) and the estimated rows."""
    column = MYSQL.quote(key.name)
    table = MYSQL.qualified((facts.schema, facts.relation))
    estimate = (
        "SELECT TABLE_ROWS FROM information_schema.TABLES"
        f" WHERE TABLE_SCHEMA = {MYSQL.string(facts.schema)} AND TABLE_NAME = {MYSQL.string(facts.relation)}"
    )
    low, high, rows = link.rows(
        f"SELECT (SELECT MIN({column}) FROM {table}), (SELECT MAX({column}) FROM {table}), ({estimate})",
        doing=f"looking at the ends of {facts.relation}.{key.name}",
    )[0]
    first, last = number(low), number(high)
    return (None if first is None or last is None else (first, last)), number(rows)


def _windows(spec: ReadSpec, facts: TableFacts, today: date) -> tuple[Unit, ...]:
    """Return one unit per day (UTC), from `days_window` days ago to the end of today."""
    column = facts.column(spec.time_column or "")
    if column is None:
        raise ConfigError(
            f"{spec.export}: {spec.table or 'the query'} has no column {spec.time_column!r}",
            hint=f"its columns are: {', '.join(c.name for c in facts.columns[:12])}",
        )
    unix = spec.time_column_type == "unix"
    if column.kind not in ({TypeKind.INTEGER, TypeKind.DECIMAL, TypeKind.FLOAT} if unix else TIMES):
        raise ConfigError(
            f"{spec.export}: the time column {column.name} is {column.source_type}",
            hint="use `time_column_type: unix` for numbers and `timestamp` for dates and times",
        )
    first = today - timedelta(days=spec.days_window or _DEFAULT_DAYS)
    days = [first + timedelta(days=i) for i in range((today - first).days + 2)]
    return tuple(
        Unit(
            index=index,
            kind=UnitKind.WINDOW,
            columns=(column.name,),
            lower=(_edge(column, day, unix=unix),),
            upper=(_edge(column, after, unix=unix),),
            lower_inclusive=True,
            upper_inclusive=False,
        )
        for index, (day, after) in enumerate(pairwise(days))
    )


def _edge(column: ColumnFacts, day: date, *, unix: bool) -> Mark:
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    if unix:
        value = str(int(midnight.timestamp()))
    else:
        value = day.isoformat() if column.kind is TypeKind.DATE else f"{day.isoformat()} 00:00:00"
        value += "+00" if column.kind is TypeKind.TIMESTAMPTZ else ""
    return Mark(column=column.name, type=column.source_type, value=value)
