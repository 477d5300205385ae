"""Dates and timestamps of any year as ISO 8601 text: Python ends at the year 9999, and Arrow's own text at 32767.

Years past 9999 keep all their digits, years before 1 are astronomical: `0000` is 1 BC, `-0043` is 44 BC.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rivet_core.sql.marks import MICROS_PER_DAY, date_text, micros_of

_FEWEST_DAYS, _MOST_DAYS = -12_687_428, 11_248_737
"""The first and the last day that Arrow can spell."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_moment(kind: pa.DataType) -> bool:
    """Whether values of this type are a number of days or microseconds, as sources deliver them."""
    return bool(pa.types.is_date32(kind) or (pa.types.is_timestamp(kind) and kind.unit == "us"))


def iso_texts(column: pa.Array) -> pa.Array:
    """Return dates as `YYYY-MM-DD`, timestamps as `YYYY-MM-DDTHH:MM:SS.ffffff` without a zone, whatever the year."""
    kind = column.type
    if is_moment(kind):
        per_day = 1 if pa.types.is_date32(kind) else MICROS_PER_DAY
        numbers = column.view(pa.int32() if per_day == 1 else pa.int64())
        ends = pc.min_max(numbers)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        if low is not None and (low < _FEWEST_DAYS * per_day or high >= (_MOST_DAYS + 1) * per_day):
            return pa.array(
                [None if value is None else _spelled(value, per_day) for value in numbers.to_pylist()], pa.large_string()
            )
    if not pa.types.is_timestamp(kind):
        return column.cast(pa.string()).cast(pa.large_string())
    # Arrow looks a zone up for every value, which takes ten times as long as writing the same moment without one.
    text = column.cast(pa.timestamp(kind.unit)).cast(pa.large_string())
    return pc.replace_substring(text, " ", "T", max_replacements=1)


def from_iso(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return what `iso_texts` spelled as values of `kind`, dates or timestamps in microseconds without a zone."""
    plain = pc.replace_substring(texts.cast(pa.string()), "T", " ")
    try:
        return plain.cast(kind)
    except pa.ArrowInvalid:  # a year that Arrow spells and does not read
        scale = MICROS_PER_DAY if pa.types.is_date32(kind) else 1
        numbers = [None if text is None else micros_of(text) // scale for text in plain.to_pylist()]
        return pa.array(numbers, pa.int32() if pa.types.is_date32(kind) else pa.int64()).view(kind)


def bound_text(number: int, kind: pa.DataType) -> str:
    """Return a date or timestamp, given as its number, as ISO text with the zone that its type has."""
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    try:
        if pa.types.is_date32(kind):
            return (date(1970, 1, 1) + timedelta(days=number)).isoformat()
        moment = _EPOCH + timedelta(microseconds=number)
        return (moment if zoned else moment.replace(tzinfo=None)).isoformat()
    except OverflowError:
        return _spelled(number, 1 if pa.types.is_date32(kind) else MICROS_PER_DAY) + ("+00:00" if zoned else "")


def plain_values(column: pa.Array) -> list[Any]:
    """Return the values as Python's own; lists of moments that Python has not as lists of their texts."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        kind = column.type
        if not (pa.types.is_list(kind) and is_moment(kind.value_type)):
            raise
        zone = "Z" if pa.types.is_timestamp(kind.value_type) and kind.value_type.tz else ""
        return [
            None if not one.is_valid else [None if text is None else text + zone for text in iso_texts(one.values).to_pylist()]
            for one in column
        ]


def _spelled(number: int, per_day: int) -> str:
    """Return one date, or with microseconds in `per_day` one timestamp, as Arrow would."""
    days, rest = divmod(number, per_day)
    day, before, _ = date_text(days).partition(" BC")
    if before:
        year, month_and_day = day[:-6], day[-6:]
        day = f"{1 - int(year):05d}{month_and_day}" if year != "0001" else f"0000{month_and_day}"
    if per_day == 1:
        return day
    seconds, fraction = divmod(rest, 1_000_000)
    return f"{day}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}"
