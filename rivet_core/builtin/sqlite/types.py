"""How a declared column type of SQLite becomes an Arrow type, and how values are held to it.

SQLite types values, not columns: a column declared INTEGER may hold text. So a column has a *reading*: the Arrow type that
its declaration promises, and the check that every value is what was promised. Nothing is converted silently; what does
not fit is `BadValue`, which the reader turns into an error that names the row and the override that helps.

The affinity rules are those of https://www.sqlite.org/datatype3.html, section 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any
from uuid import UUID

import pyarrow as pa

from rivet_core.errors import ConfigError
from rivet_core.facts import Fidelity, TypeKind

EXACT_FLOAT_INTEGER = 1 << 53
"""Integers up to this size are exact as a 64-bit float."""


class Affinity(StrEnum):
    """What SQLite prefers to store in a column."""

    INTEGER = "INTEGER"
    REAL = "REAL"
    TEXT = "TEXT"
    BLOB = "BLOB"
    NUMERIC = "NUMERIC"


class BadValue(Exception):  # noqa: N818
    """A value that a column's reading does not allow: `reason` says how, `override` what to write under `columns:`."""

    def __init__(self, reason: str, override: str, classes: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.override = override
        self.classes = classes


Convert = Callable[[Sequence[Any], "set[type]"], pa.Array]


@dataclass(frozen=True, slots=True)
class Reading:
    """How one column is read. `wide` says that its values have no fixed size; `storage` which classes are allowed."""

    kind: TypeKind
    arrow: pa.DataType
    convert: Convert
    storage: tuple[str, ...]
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""
    wide: bool = False


def affinity(declared: str) -> Affinity:
    """Return the affinity that SQLite gives a column declared like this, by its five rules in order."""
    text = declared.upper()
    if "INT" in text:
        return Affinity.INTEGER
    if any(word in text for word in ("CHAR", "CLOB", "TEXT")):
        return Affinity.TEXT
    if not text.strip() or "BLOB" in text:
        return Affinity.BLOB
    if any(word in text for word in ("REAL", "FLOA", "DOUB")):
        return Affinity.REAL
    return Affinity.NUMERIC


_DECLARED_KINDS: tuple[tuple[str, TypeKind], ...] = (
    ("BOOL", TypeKind.BOOLEAN),
    ("TIMESTAMPTZ", TypeKind.TIMESTAMPTZ),
    ("TIMESTAMP", TypeKind.TIMESTAMP),
    ("DATETIME", TypeKind.TIMESTAMP),
    ("DATE", TypeKind.DATE),
    ("TIME", TypeKind.TIME),
    ("UUID", TypeKind.UUID),
    ("JSON", TypeKind.JSON),
    ("DEC", TypeKind.DECIMAL),
    ("NUM", TypeKind.DECIMAL),
    ("MONEY", TypeKind.DECIMAL),
)


def kind_of(declared: str) -> TypeKind:
    """Return the engine-neutral family that a declaration means."""
    by_affinity = {
        Affinity.INTEGER: TypeKind.INTEGER,
        Affinity.REAL: TypeKind.FLOAT,
        Affinity.TEXT: TypeKind.TEXT,
        Affinity.BLOB: TypeKind.BYTES if declared.strip() else TypeKind.OTHER,
    }
    found = by_affinity.get(affinity(declared))
    if found is not None:
        return found
    text = declared.upper()
    return next((kind for word, kind in _DECLARED_KINDS if word in text), TypeKind.OTHER)


def reading(declared: str, override: pa.DataType | None = None) -> Reading:
    """Return how a column declared like this is read, `override` as parsed by `rivet_core.sql.overrides`."""
    if override is not None:
        return _overridden(kind_of(declared), override)
    kind = kind_of(declared)
    match kind:
        case TypeKind.INTEGER:
            return Reading(kind, pa.int64(), _integers, ("integer",))
        case TypeKind.BOOLEAN:
            return Reading(
                kind, pa.int64(), _integers, ("integer",), note="SQLite has no boolean: the stored integer; bool by override"
            )
        case TypeKind.FLOAT:
            return Reading(kind, pa.float64(), _floats, ("integer", "real"))
        case TypeKind.TEXT:
            return Reading(kind, pa.string(), _strings, ("text",), wide=True)
        case TypeKind.BYTES:
            return Reading(kind, pa.binary(), _blobs, ("blob",), wide=True)
    return Reading(
        kind, pa.string(), _texts, ("integer", "real", "text"), Fidelity.TEXT, _TEXT_NOTES.get(kind, _ANY_NOTE), wide=True
    )


_STORED = "the stored value as text, untouched"
_TEXT_NOTES = {
    TypeKind.DECIMAL: "SQLite stores decimals as integers or floats: their exact text; decimal(p,s) by override",
    TypeKind.DATE: f"{_STORED}; date by override",
    TypeKind.TIMESTAMP: f"{_STORED}; timestamp by override",
    TypeKind.TIMESTAMPTZ: f"{_STORED}; timestamptz by override",
    TypeKind.TIME: _STORED,
    TypeKind.UUID: _STORED,
    TypeKind.JSON: _STORED,
}
_ANY_NOTE = "no declared type: each value's exact text; int64, double or binary by override"

_NAMES = {"int": "integer", "float": "real", "str": "text", "bytes": "blob", "NoneType": "null"}
_OVERRIDE_FOR = {"integer": "int64", "real": "double", "text": "text", "blob": "binary"}


def _refuse(types: set[type], allowed: tuple[type, ...], expected: str, *, text_helps: bool = True) -> None:
    """Raise `BadValue` when `types` holds more than `allowed` and NULL."""
    bad = sorted(
        _NAMES.get(found.__name__, found.__name__) for found in types if found not in allowed and found is not type(None)
    )
    if bad:
        blob = "blob" in bad
        override = "binary" if blob else ("text" if text_helps else _OVERRIDE_FOR.get(bad[0], "text"))
        raise BadValue(f"holds {' and '.join(bad)} where {expected} was declared", override, tuple(bad))


def _integers(values: Sequence[Any], types: set[type]) -> pa.Array:
    _refuse(types, (int,), "an integer")
    return pa.array(values, type=pa.int64())


def _floats(values: Sequence[Any], types: set[type]) -> pa.Array:
    _refuse(types, (float, int), "a real number")
    if int in types and any(type(value) is int and abs(value) > EXACT_FLOAT_INTEGER for value in values):
        raise BadValue("holds an integer that a 64-bit float cannot hold exactly", "text", ("integer",))
    return pa.array(values, type=pa.float64())


def _strings(values: Sequence[Any], types: set[type]) -> pa.Array:
    _refuse(types, (str,), "text")
    return pa.array(values, type=pa.string())


def _blobs(values: Sequence[Any], types: set[type]) -> pa.Array:
    _refuse(types, (bytes,), "a blob")
    return pa.array(values, type=pa.binary())


def exact_text(value: int | float | str) -> str:
    """Return the exact text of a stored value: `repr` of a float has all the digits that bring the same float back."""
    return value if isinstance(value, str) else repr(value)


def _texts(values: Sequence[Any], types: set[type]) -> pa.Array:
    _refuse(types, (int, float, str), "a number or text")
    if types <= {str, type(None)}:
        return pa.array(values, type=pa.string())
    return pa.array([None if value is None else exact_text(value) for value in values], type=pa.string())


def _bools(values: Sequence[Any], types: set[type]) -> pa.Array:
    _refuse(types, (int,), "0 or 1")
    if not set(values) <= {0, 1, None}:
        raise BadValue("holds an integer other than 0 and 1", "int64", ("integer",))
    return pa.array([None if value is None else value == 1 for value in values], type=pa.bool_())


def _narrow(arrow: pa.DataType) -> Convert:
    def convert(values: Sequence[Any], types: set[type]) -> pa.Array:
        _refuse(types, (int,), "an integer")
        try:
            return pa.array(values, type=arrow)
        except (pa.ArrowInvalid, OverflowError):
            raise BadValue(f"holds an integer that {arrow} cannot hold", "int64", ("integer",)) from None

    return convert


def _decimals(arrow: pa.DataType) -> Convert:
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


def _dates(values: Sequence[Any], types: set[type]) -> pa.Array:
    _refuse(types, (str,), "an ISO date")

    def one(value: str | None) -> date | None:
        if value is None:
            return None
        if not _DATE.match(value):
            raise BadValue("holds text that is not a date like 2026-01-31", "text", ("text",))
        return date.fromisoformat(value)

    return _parsed(values, one, pa.date32())


def _stamps(*, zoned: bool) -> Convert:
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


def _float32s(values: Sequence[Any], types: set[type]) -> pa.Array:
    exact = _floats(values, types)
    narrow = exact.cast(pa.float32(), safe=False)
    if not narrow.cast(pa.float64()).equals(exact):
        raise BadValue("holds a number that a 32-bit float cannot hold exactly", "double", ("real",))
    return narrow


def _uuids(values: Sequence[Any], types: set[type]) -> pa.Array:
    _refuse(types, (str, bytes), "a uuid")
    try:
        data = [None if v is None else UUID(v).bytes if isinstance(v, str) else UUID(bytes=v).bytes for v in values]
    except ValueError:
        raise BadValue("holds a value that is not a uuid", "text") from None
    return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(data, type=pa.binary(16)))


def _jsons(values: Sequence[Any], types: set[type]) -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.json_(pa.utf8()), _texts(values, types))


_NUMBERS_AND_TEXT = ("integer", "real", "text")


def _overridden(kind: TypeKind, arrow: pa.DataType) -> Reading:
    """Return the reading that `columns: {name: type}` asks for; a value that does not fit fails when it is met."""
    note = "by override; a value that does not fit fails"
    if arrow == pa.int64():
        return Reading(kind, arrow, _integers, ("integer",), note=note)
    if pa.types.is_integer(arrow):
        return Reading(kind, arrow, _narrow(arrow), ("integer",), note=note)
    if pa.types.is_decimal(arrow):
        return Reading(kind, arrow, _decimals(arrow), _NUMBERS_AND_TEXT, note=note)
    if pa.types.is_timestamp(arrow):
        zoned = arrow.tz is not None
        return Reading(
            kind, arrow, _stamps(zoned=zoned), ("text",), note=f"{note}; without an offset it is UTC" if zoned else note
        )
    if arrow == pa.string():
        return Reading(kind, arrow, _texts, _NUMBERS_AND_TEXT, Fidelity.TEXT, "by override", wide=True)
    by_type: tuple[tuple[pa.DataType, Convert, tuple[str, ...]], ...] = (
        (pa.float64(), _floats, ("integer", "real")),
        (pa.float32(), _float32s, ("integer", "real")),
        (pa.bool_(), _bools, ("integer",)),
        (pa.binary(), _blobs, ("blob",)),
        (pa.date32(), _dates, ("text",)),
        (pa.uuid(), _uuids, ("text", "blob")),
        (pa.json_(pa.utf8()), _jsons, _NUMBERS_AND_TEXT),
    )
    for known, convert, storage in by_type:
        if known == arrow:
            return Reading(kind, arrow, convert, storage, note=note, wide=pa.types.is_binary(arrow) or convert is _jsons)
    raise ConfigError(f"SQLite columns cannot be read as {arrow}", hint="read it as text")
