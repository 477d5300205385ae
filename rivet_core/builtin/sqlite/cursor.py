"""Cursors in SQLite: which order a column really has, and whether its values keep to it.

A column declared DATETIME may hold text, seconds since 1970, or both. SQLite sorts every number before every text, so a
number written after a text mark would never be seen again; and text sorts by bytes, which is the order of time only when
all values have one form. Both are refused by name.
"""

# Identifiers are quoted by the dialect, values are bound.
# ruff: noqa: S608

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rivet_core.builtin.sqlite.connection import Connection
from rivet_core.builtin.sqlite.schema import Table
from rivet_core.builtin.sqlite.values import exact_text
from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import Mark, TableFacts, TypeKind
from rivet_core.sql.marks import shift

NUMBERS = frozenset({TypeKind.INTEGER, TypeKind.FLOAT, TypeKind.DECIMAL})
TIMES = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ})
TEXTS = frozenset({TypeKind.TEXT, TypeKind.UUID, *TIMES})

_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:([ T])\d\d:\d\d(?::\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?\Z")
_NUMBER = re.compile(r"-?(?:\d+|(?:\d+\.\d*|\.\d+)(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf)\Z", re.IGNORECASE)
_INTEGER = re.compile(r"-?\d+\Z")
_DATE_GLOB = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*"
_MILLISECONDS_FROM = 100_000_000_000
"""Unix times from here on are milliseconds: as seconds this is the year 5138."""


def trusted_key(facts: TableFacts, table: Table | None) -> TableFacts:
    """Return the facts without the keys that cannot break ties exactly in SQLite.

    A primary key that may hold NULL (SQLite allows it) loses rows in a row comparison. A text key under a COLLATE clause
    may be unique byte by byte and equal in the column's own order.
    """
    if table is None:
        return facts
    texts = {column.name for column in facts.columns if column.kind in TEXTS or column.kind is TypeKind.OTHER}
    nullable = {column.name for column in facts.columns if column.nullable}
    kept = []
    for index in facts.indexes:
        uncertain = table.relation.collates and not texts.isdisjoint(index.columns)
        if index.primary and (uncertain or not nullable.isdisjoint(index.columns)):
            index = replace(index, primary=False)
        kept.append(replace(index, unique=False) if uncertain else index)
    return replace(facts, indexes=tuple(kept))


def value_of(kind: TypeKind, text: str) -> int | float | str:
    """Return the stored value that a mark's text stands for, to bind to a statement. Raises `ConfigError` when it is none."""
    try:
        if kind is TypeKind.INTEGER:
            return int(text)
        if kind in NUMBERS:
            return int(text) if _INTEGER.match(text) else float(text)
    except ValueError:
        raise ConfigError(f"{text!r} is not a number", hint="the saved position is damaged: reset the export's state") from None
    if kind is TypeKind.TEXT or not _NUMBER.match(text):
        return text
    # A column of NUMERIC affinity never keeps text that looks like a number.
    return int(text) if _INTEGER.match(text) else float(text)


def mark_of(column: str, declared: str, value: Any) -> Mark:
    """Return the mark at a stored value."""
    if not isinstance(value, int | float | str):
        raise SourceError(
            f"the cursor {column} holds a blob, which marks no progress", hint="choose another cursor", error_class="data"
        )
    return Mark(column=column, type=declared, value=exact_text(value))


def look_back(mark: Mark, kind: TypeKind, seconds: float) -> Mark:
    """Return the mark moved to earlier; unix times by their own unit, ISO text as text that sorts no later than asked."""
    if kind in TIMES and _NUMBER.match(mark.value):
        number = value_of(kind, mark.value)
        assert not isinstance(number, str)  # noqa: S101 - the pattern saw a number
        scale = 1000 if abs(number) >= _MILLISECONDS_FROM else 1
        moved = number - (int(seconds * scale) if isinstance(number, int) else seconds * scale)
        return Mark(column=mark.column, type=mark.type, value=exact_text(moved))
    clock = _ISO.match(mark.value)
    if clock is None or clock.group(1) is None or kind is TypeKind.DATE:
        return shift(mark, TypeKind.DATE, -seconds)
    # SQLite compares text by bytes: cut to the minute and without a zone, the moved text sorts before all of that minute.
    moved_mark = shift(replace(mark, value=mark.value[:16].ljust(16) + ":00"), TypeKind.TIMESTAMP, -seconds)
    return replace(mark, value=moved_mark.value[:16].replace(" ", clock.group(1)))


def check_one_class(connection: Connection, export: str, source: str, column: str, kind: TypeKind) -> None:
    """Raise `SourceError` when a time column holds numbers as well as text: no cursor passes over both.

    `source` is a FROM item with its alias, `column` SQL.
    """
    if kind in TIMES and _any(connection, source, f"{column} < ''") and _any(connection, source, f"{column} >= ''"):
        raise SourceError(
            f"{export}: {column} holds numbers and text; SQLite sorts every number before every text, so rows would be lost",
            hint="write one form, or read a query that brings both to one",
            error_class="data",
        )


def check_below(connection: Connection, export: str, source: str, column: str, lower: Sequence[Mark]) -> None:
    """Raise `SourceError` when text that is no ISO time, or one of another form, was written where a cursor has passed.

    `OrderCheck` sees what is read only. Text below any year of now (empty, `12.01.2024`, seconds since 1970) and times of the
    mark's own day with another separator are found by an index of the cursor, if there is one, without reading the table.
    """
    clock = _ISO.match(lower[0].value) if lower else None
    if clock is None:
        return
    day, separator = lower[0].value[:10], clock.group(1)
    odd = f"{column} >= '' AND {column} < '1900-' AND {column} NOT GLOB '{_DATE_GLOB}'"
    other = f"{column} > ? AND {column} < ? AND substr({column}, 11, 1) NOT IN ('', ?)"
    if _any(connection, source, odd) or (separator and _any(connection, source, other, day, lower[0].value, separator)):
        raise SourceError(
            f"{export}: the cursor {column} holds times in a form that sorts before the end of the last run and would be lost",
            hint="bring it to one form in a query, read by another column, or set `allow_text_cursor: true` for byte order",
            error_class="data",
        )


def check_window_class(connection: Connection, export: str, source: str, column: str, *, unix: bool) -> None:
    """Raise `SourceError` when a time column holds values that no window of this kind can ever select."""
    if _any(connection, source, f"{column} {'>=' if unix else '<'} ''"):
        held, other = ("text", "timestamp") if unix else ("numbers", "unix")
        raise SourceError(
            f"{export}: the time column {column} holds {held}, which no window over it would select",
            hint=f"set `time_column_type: {other}`, or write one form",
            error_class="data",
        )


def _any(connection: Connection, source: str, condition: str, *values: str) -> bool:
    return connection.execute(f"SELECT 1 FROM {source} WHERE {condition} LIMIT 1", values).fetchone() is not None


class OrderCheck:
    """Watches the cursor values of one unit: of one storage class, and ISO text of one form where text means time."""

    def __init__(self, export: str, column: str, kind: TypeKind, *, as_text: bool) -> None:
        self._export, self._column, self._kind, self._as_text = export, column, kind, as_text
        self._shapes: set[str] = set()

    def see(self, values: Iterable[Any]) -> None:
        """Look at values; NULL is passed over. Raises `SourceError` for the first that breaks the order."""
        if self._kind in NUMBERS:
            if not set(map(type, values)) <= {int, float, type(None)}:
                raise self._broken("holds text or blobs, which sort after every number")
        elif self._kind in TIMES and not self._as_text:
            self._shapes.update(shape for value in values if isinstance(value, str) and (shape := self._shape(value)))
            if len(self._shapes) > 1:
                raise self._broken(f"mixes times written as {' and '.join(sorted(self._shapes))}")

    def _shape(self, value: str) -> str:
        found = _ISO.match(value)
        if found is None:
            raise self._broken("holds text that is not ISO time and does not sort by time")
        separator, fraction, zone = found.groups()
        if separator is None:
            return ""
        # `.5Z` sorts before `Z`, so with a Z the digits count; before any other end a fraction sorts after none.
        digits = "f" * len(fraction or "") if zone == "Z" else ""
        return f"YYYY-MM-DD{separator}hh:mm{digits}{zone or ''}"

    def _broken(self, how: str) -> SourceError:
        return SourceError(
            f"{self._export}: the cursor {self._column} {how}",
            hint="bring it to one form in a query, read by another column, or set `allow_text_cursor: true` for byte order",
            error_class="data",
        )


def last_marks(positions: Sequence[tuple[str, str]], values: Sequence[Any]) -> tuple[Mark, ...]:
    """Return one mark per cursor position at the last row's values."""
    return tuple(mark_of(name, declared, value) for (name, declared), value in zip(positions, values, strict=True))
