"""Days (UTC) as units: the window of a `time_window` export, and `chunk_by_days`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from rivet_core.errors import ConfigError
from rivet_core.facts import ColumnFacts, Mark, ReadSpec, TableFacts, TypeKind, Unit, UnitKind
from rivet_core.sql.marks import MICROS_PER_DAY, date_text, timestamp_text
from rivet_core.sql.ranges import MAX_UNITS

DAY_KINDS = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ})
"""Kinds that can be cut into days."""


def time_column(spec: ReadSpec, table: TableFacts) -> ColumnFacts:
    """Return the column of a time window. Raises `ConfigError` when there is none of its name, or the window has no length."""
    column = table.column(spec.time_column or "")
    if column is None:
        raise ConfigError(
            f"{spec.export}: {spec.table or 'the query'} has no column {spec.time_column!r}",
            hint=f"its columns are: {', '.join(c.name for c in table.columns[:12])}",
        )
    if not spec.days_window or spec.days_window < 1:
        raise ConfigError(f"{spec.export}: a time window needs its length", hint="set `days_window` to a number of days")
    return column


def window_units(spec: ReadSpec, column: ColumnFacts, edge: Callable[[date], str], today: date) -> tuple[Unit, ...]:
    """Return one unit for each day that the last `days_window` times 24 hours touch, today's included.

    `edge(day)` is the text of a mark at the day's first moment.
    """
    first = today - timedelta(days=spec.days_window or 1)
    days = [first + timedelta(days=i) for i in range((today - first).days + 2)]
    return tuple(
        Unit(
            index=index,
            kind=UnitKind.WINDOW,
            columns=(column.name,),
            lower=(Mark(column=column.name, type=column.source_type, value=edge(day)),),
            upper=(Mark(column=column.name, type=column.source_type, value=edge(after)),),
            lower_inclusive=True,
            upper_inclusive=False,
        )
        for index, (day, after) in enumerate(pairwise(days))
    )


def unix_edge(day: date) -> str:
    """Return the seconds from 1970 at which a day begins."""
    return str(int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()))


def check_days(spec: ReadSpec, column: ColumnFacts) -> None:
    """Raise `ConfigError` when `chunk_by_days` cannot cut along the column."""
    if column.kind not in DAY_KINDS:
        raise ConfigError(
            f"{spec.export}: chunk_by_days needs a date or timestamp, {column.name} is {column.source_type}",
            hint="name such a column as `chunk_column`, or use `chunk_size`",
        )


def day_cuts(kind: TypeKind, first: int, last: int, step: int) -> tuple[str, ...]:
    """Return a cut before every `step`-th day from `first` to `last`, counted from 1970-01-01; wider steps for too many days.

    A unit is closed above: the last microsecond of a day (for dates, the day itself) ends it.
    """
    step = max(step, -(-(last - first + 1) // MAX_UNITS))
    starts = range(first + step, last + 1, step)
    if kind is TypeKind.DATE:
        return tuple(date_text(day - 1) for day in starts)
    return tuple(timestamp_text(day * MICROS_PER_DAY - 1, zoned=kind is TypeKind.TIMESTAMPTZ) for day in starts)
