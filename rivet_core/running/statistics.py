"""Column statistics of a part: null count, least and greatest value, as text that keeps every digit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rivet_core.facts import Json
from rivet_core.running.moments import bound_text, is_moment

MAX_TEXT = 256
"""A bound longer than this is left out: a manifest row stays small whatever the values."""


class ColumnStatistics:
    """Collects the statistics of one part, batch by batch."""

    def __init__(self, schema: pa.Schema, *, bounds: bool) -> None:
        self._schema = schema
        self._nulls = [0] * len(schema)
        self._bounds: list[tuple[Any, Any] | None] = [None] * len(schema)
        self._compute = [bounds and orderable(field.type) for field in schema]

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch in; bounds are computed only where no file footer will have them."""
        for index, column in enumerate(batch.columns):
            self._nulls[index] += column.null_count
            if self._compute[index]:
                found = pc.min_max(column)
                moment = is_moment(self._schema.field(index).type)
                low, high = (one.value if moment and one.is_valid else one.as_py() for one in (found["min"], found["max"]))
                self.widen(index, low, high)

    def widen(self, index: int, low: Any, high: Any) -> None:
        """Take one row group's bounds into the part's; `None` says nothing. Dates and timestamps come as their numbers."""
        if low is None or high is None:
            return
        known = self._bounds[index]
        try:
            self._bounds[index] = (low, high) if known is None else (min(low, known[0]), max(high, known[1]))
        except TypeError:
            self._bounds[index] = None

    def as_json(self) -> dict[str, Json]:
        """Return `{column: {null_count, min, max}}`."""
        found: dict[str, Json] = {}
        for field, nulls, bounds in zip(self._schema, self._nulls, self._bounds, strict=True):
            text = partial(bound_text, kind=field.type) if is_moment(field.type) else _text
            low, high = (text(value) for value in bounds) if bounds else (None, None)
            known = low is not None and high is not None
            found[field.name] = {"null_count": nulls, "min": low if known else None, "max": high if known else None}
        return found


def null_counts(columns: Sequence[dict[str, Any]], name: str) -> int:
    """Return the NULLs of one column over several parts' statistics."""
    return sum(int((part.get(name) or {}).get("null_count") or 0) for part in columns)


def orderable(kind: pa.DataType) -> bool:
    """Whether least and greatest value of this type mean something to a reader."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or (pa.types.is_temporal(kind) and not pa.types.is_duration(kind) and not pa.types.is_interval(kind))
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    )


def _text(value: Any) -> str | None:
    """Return a value's text: ISO for times, all digits of numbers, `None` for what has no short text."""
    text: str | None = None
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, float):
        text = None if math.isnan(value) else repr(value)
    elif isinstance(value, Decimal):
        text = format(value, "f")
    elif isinstance(value, datetime):
        text = (value.astimezone(UTC) if value.tzinfo else value).isoformat()
    elif isinstance(value, date | time):
        text = value.isoformat()
    elif isinstance(value, timedelta):
        text = str(value // timedelta(microseconds=1))
    elif isinstance(value, int | str):
        text = str(value)
    return text if text is not None and len(text) <= MAX_TEXT else None
