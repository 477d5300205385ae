"""The table that source checks read: known rows, ties in the time column, NULLs, text that breaks careless code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

COLUMNS = ("id", "label", "changed_at")
COUNT = 1000
TIES = 3
"""So many rows in a row share one value of `changed_at`."""

_FIRST = datetime(2024, 2, 28, 23, 59, 58, 999_001)  # noqa: DTZ001 - the column has no zone
_LABELS = ("plain", "it's quoted", "Zażółć gęślą jaźń", '100 %s {0} \\ "', "")


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `label` is NULL in every seventh."""

    id: int
    label: str | None
    changed_at: datetime


def rows(first: int = 1, count: int = COUNT) -> tuple[Row, ...]:
    """Return rows `first` .. `first + count - 1`. Ids have gaps, times have microseconds and ties, both rise together."""
    return tuple(_row(number) for number in range(first, first + count))


def _row(number: int) -> Row:
    label = None if number % 7 == 0 else f"{_LABELS[number % len(_LABELS)]}{number}"
    moment = _FIRST + timedelta(seconds=7, microseconds=1) * (number // TIES)
    return Row(id=number * 3 - 1500, label=label, changed_at=moment)


def create_sql(table: str, *, timestamp: str = "timestamp(6)", text: str = "varchar(80)") -> str:
    """Return a CREATE TABLE statement that most SQL databases take, with their own words for two of the types."""
    columns = f"id bigint NOT NULL PRIMARY KEY, label {text} NULL, changed_at {timestamp} NOT NULL"
    return f"CREATE TABLE {table} ({columns})"


def insert_sql(table: str, found: Sequence[Row], *, backslash_escapes: bool = False) -> str:
    """Return one INSERT statement for `found`. `backslash_escapes` for MySQL, where a backslash must be doubled."""
    values = ", ".join(f"({row.id}, {_literal(row.label, backslash_escapes)}, '{_moment(row)}')" for row in found)
    return f"INSERT INTO {table} ({', '.join(COLUMNS)}) VALUES {values}"  # noqa: S608 - rows of our own


def _literal(text: str | None, backslash_escapes: bool) -> str:
    if text is None:
        return "NULL"
    quoted = text.replace("'", "''")
    return "'" + (quoted.replace("\\", "\\\\") if backslash_escapes else quoted) + "'"


def _moment(row: Row) -> str:
    return row.changed_at.isoformat(sep=" ", timespec="microseconds")
