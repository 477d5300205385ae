"""Stored values as Arrow arrays, each value held to what its column promises; what does not fit is `BadValue`.

A converter takes the values of one column and the Python classes that occur among them, which is how SQLite's storage
classes arrive: int, float, str, bytes and None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias
from uuid import UUID

import pyarrow as pa

from rivet_core.sql.overrides import require_json

EXACT_FLOAT_INTEGER = 1 << 53
"""Integers up to this size are exact as a 64-bit float."""


class BadValue(Exception):  # noqa: N818
    """A value that a column's reading does not allow: `reason` says how, `override` what to write under `columns:`."""

    def __init__(self, reason: str, override: str, classes: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.override = override
        self.classes = classes


Convert: TypeAlias = "Callable[[Sequence[Any], set[type]], pa.Array]"


_NAMES = {"int": "integer", "float": "real", "str": "text", "bytes": "blob", "NoneType": "null"}


def _refuse(types: set[type], allowed: tuple[type, ...], expected: str, override: str = "text") -> None:
    """Raise `BadValue` when `types` holds more than `allowed` and NULL; a blob is never text, so it needs `binary`."""
    bad = sorted(
        _NAMES.get(found.__name__, found.__name__) for found in types if found not in allowed and found is not type(None)
    )
    if bad:
        raise BadValue(
            f"holds {' and '.join(bad)} where {expected} was promised", "binary" if "blob" in bad else override, tuple(bad)
        )


def integers(values: Sequence[Any], types: set[type]) -> pa.Array:
    """Integers as 64 bits, which is all that SQLite stores."""
    _refuse(types, (int,), "an integer")
    return pa.array(values, type=pa.int64())


def floats(values: Sequence[Any], types: set[type]) -> pa.Array:
    """64-bit floats; an integer only when a float holds it exactly."""
    _refuse(types, (float, int), "a real number")
    if int in types and any(type(value) is int and abs(value) > EXACT_FLOAT_INTEGER for value in values):
        raise BadValue("holds an integer that a 64-bit float cannot hold exactly", "text", ("integer",))
    return pa.array(values, type=pa.float64())


def strings(values: Sequence[Any], types: set[type]) -> pa.Array:
    """Text."""
    _refuse(types, (str,), "text")
    return pa.array(values, type=pa.string())


def blobs(values: Sequence[Any], types: set[type]) -> pa.Array:
    """Bytes."""
    _refuse(types, (bytes,), "a blob", "binary")
    return pa.array(values, type=pa.binary())


def exact_text(value: int | float | str) -> str:
    """Return the exact text of a stored value: `repr` of a float has all the digits that bring the same float back."""
    return value if isinstance(value, str) else repr(value)


def texts(values: Sequence[Any], types: set[type]) -> pa.Array:
    """The exact text of numbers and text."""
    _refuse(types, (int, float, str), "a number or text")
    if types <= {str, type(None)}:
        return pa.array(values, type=pa.string())
    return pa.array([None if value is None else exact_text(value) for value in values], type=pa.string())


def bools(values: Sequence[Any], types: set[type]) -> pa.Array:
    """0 and 1 as booleans."""
    _refuse(types, (int,), "0 or 1")
    if not set(values) <= {0, 1, None}:
        raise BadValue("holds an integer other than 0 and 1", "int64", ("integer",))
    return pa.array([None if value is None else value == 1 for value in values], type=pa.bool_())


def narrow(arrow: pa.DataType) -> Convert:
    """Return the converter to integers of fewer bits."""

    def convert(values: Sequence[Any], types: set[type]) -> pa.Array:
        _refuse(types, (int,), "an integer")
        try:
            return pa.array(values, type=arrow)
        except (pa.ArrowInvalid, OverflowError):
            raise BadValue(f"holds an integer that {arrow} cannot hold", "int64", ("integer",)) from None

    return convert


def decimals(arrow: pa.DataType) -> Convert:
    """Return the converter to decimals that hold every digit."""
    precision, scale = arrow.precision, arrow.scale

    def one(value: Any) -> Decimal | None:
        if value is None:
            return None
        try:
            number = Decimal(exact_text(value))
        except InvalidOperation:
            raise BadValue("holds text that is not a decimal number", "text", ("text",)) from None
        if not number.is_finite():
            raise BadValue("holds a number that is not finite", "text", ("real",))
        exponent = number.normalize().as_tuple().exponent
        digits = number.adjusted() + 1 + scale
        if (isinstance(exponent, int) and -exponent > scale) or (number and digits > precision):
            raise BadValue(f"holds a number that decimal({precision},{scale}) cannot hold exactly", "text")
        return number

    def convert(values: Sequence[Any], types: set[type]) -> pa.Array:
        _refuse(types, (int, float, str), "a number")
        return pa.array([one(value) for value in values], type=arrow)

    return convert


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)(Z|[+-]\d{2}:\d{2})?\Z")


def dates(values: Sequence[Any], types: set[type]) -> pa.Array:
    """ISO dates."""
    _refuse(types, (str,), "an ISO date")

    def one(value: str | None) -> date | None:
        if value is None:
            return None
        if not _DATE.match(value):
            raise BadValue("holds text that is not a date like 2026-01-31", "text", ("text",))
        return date.fromisoformat(value)

    return _parsed(values, one, pa.date32())


def stamps(*, zoned: bool) -> Convert:
    """Return the converter from ISO text to timestamps."""
    arrow = pa.timestamp("us", tz="UTC") if zoned else pa.timestamp("us")

    def one(value: str | None) -> datetime | None:
        if value is None:
            return None
        found = _STAMP.match(value)
        if not found and not _DATE.match(value):
            raise BadValue("holds text that is not a timestamp like 2026-01-31 23:59:59.123456", "text", ("text",))
        offset = found.group(3) if found else None
        if offset and not zoned:
            raise BadValue("holds a timestamp with an offset", "timestamptz", ("text",))
        moment = datetime.fromisoformat(value)
        if zoned:
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        return moment

    def convert(values: Sequence[Any], types: set[type]) -> pa.Array:
        _refuse(types, (str,), "an ISO timestamp")
        return _parsed(values, one, arrow)

    return convert


def _parsed(values: Sequence[Any], one: Callable[[Any], Any], arrow: pa.DataType) -> pa.Array:
    try:
        return pa.array([one(value) for value in values], type=arrow)
    except ValueError:
        raise BadValue("holds text that is no moment in the calendar", "text", ("text",)) from None


def float32s(values: Sequence[Any], types: set[type]) -> pa.Array:
    """32-bit floats that widen to the same number."""
    exact = floats(values, types)
    narrow = exact.cast(pa.float32(), safe=False)
    if not narrow.cast(pa.float64()).equals(exact):
        raise BadValue("holds a number that a 32-bit float cannot hold exactly", "double", ("real",))
    return narrow


def uuids(values: Sequence[Any], types: set[type]) -> pa.Array:
    """Uuids from their text or their 16 bytes."""
    _refuse(types, (str, bytes), "a uuid")
    try:
        data = [None if v is None else UUID(v).bytes if isinstance(v, str) else UUID(bytes=v).bytes for v in values]
    except ValueError:
        raise BadValue("holds a value that is not a uuid", "text") from None
    return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(data, type=pa.binary(16)))


def jsons(values: Sequence[Any], types: set[type]) -> pa.Array:
    """Text under the JSON logical type, untouched; only what is JSON."""
    found = texts(values, types)
    try:
        require_json(found.to_pylist())
    except ValueError:
        raise BadValue("holds a value that is no JSON", "text") from None
    return pa.ExtensionArray.from_storage(pa.json_(pa.utf8()), found)
