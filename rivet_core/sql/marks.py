"""Marks: points on an ordered column as text at full precision, and how they move.

A mark's text is canonical per kind: integers and decimals in plain notation, floats as their shortest exact text, dates
`YYYY-MM-DD`, timestamps `YYYY-MM-DD HH:MM:SS[.ffffff]` (zoned ones in UTC with `+00`), uuids with dashes, bytes as hex
with a leading backslash and x, text as it is. Years outside 1..9999 keep all their digits; years before 1 end in ` BC`.
"""

from __future__ import annotations

import re
import uuid
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import Mark, TypeKind

MICROS_PER_DAY = 86_400_000_000
_TIMESTAMP = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?(?:\+00(?::?00)?|Z)?( BC)?\Z")
_ANY_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_ENDLESS = frozenset({"infinity", "inf", "nan"})
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_CYCLE_DAYS = 146_097
"""Days in 400 Gregorian years: a date outside Python's range is moved by whole cycles, which keeps month and day."""


def mark_of(column: str, source_type: str, scalar: pa.Scalar) -> Mark | None:
    """Return the mark at an Arrow value, or `None` for NULL."""
    text = mark_text(scalar)
    return None if text is None else Mark(column=column, type=source_type, value=text)


def mark_text(scalar: pa.Scalar) -> str | None:
    """Return the canonical text of an Arrow value at full precision, or `None` for NULL."""
    if isinstance(scalar, pa.ExtensionScalar):
        return _extension_text(scalar)
    if not scalar.is_valid:
        return None
    kind = scalar.type
    if pa.types.is_dictionary(kind):
        return mark_text(scalar.value)
    if pa.types.is_timestamp(kind):
        return timestamp_text(_micros(scalar), zoned=kind.tz is not None)
    if pa.types.is_date32(kind):
        return date_text(scalar.value)
    value: Any = scalar.as_py()
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    return str(value)


def _extension_text(scalar: pa.ExtensionScalar) -> str | None:
    storage = scalar.value
    if storage is None or not storage.is_valid:
        return None
    value = storage.as_py()
    if isinstance(value, bytes) and len(value) == 16 and scalar.type.extension_name == "arrow.uuid":
        return str(uuid.UUID(bytes=value))
    return mark_text(storage)


def _micros(scalar: pa.Scalar) -> int:
    scale = {"s": 1_000_000, "ms": 1_000, "us": 1}.get(scalar.type.unit)
    if scale is None:
        whole, rest = divmod(scalar.value, 1_000)
        if rest:
            raise ConfigError("a cursor holds nanoseconds, which no mark can keep", hint="choose another cursor column")
        return int(whole)
    return int(scalar.value) * scale


def date_text(days: int) -> str:
    """Return the text of a day counted from 1970-01-01, any year."""
    cycles, ordinal = divmod(days + _EPOCH_ORDINAL - 1, _CYCLE_DAYS)
    day = date.fromordinal(ordinal + 1)
    year = day.year + 400 * cycles
    shown, era = (year, "") if year > 0 else (1 - year, " BC")
    return f"{shown:04d}-{day.month:02d}-{day.day:02d}{era}"


def timestamp_text(micros: int, *, zoned: bool) -> str:
    """Return the text of a moment in microseconds from 1970-01-01 (UTC when `zoned`), any year."""
    days, rest = divmod(micros, MICROS_PER_DAY)
    day, era = date_text(days), ""
    if day.endswith(" BC"):
        day, era = day[:-3], " BC"
    seconds, fraction = divmod(rest, 1_000_000)
    tail = f".{fraction:06d}" if fraction else ""
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{tail}"
    return f"{day} {clock}{'+00' if zoned else ''}{era}"


def micros_of(text: str) -> int:
    """Return the microseconds from 1970-01-01 of a date or timestamp mark. Raises `ConfigError` for any other text."""
    match = _TIMESTAMP.match(text)
    if match is None:
        raise ConfigError(
            f"{text!r} is not a date or timestamp", hint="the saved position is damaged: reset the export's state"
        )
    year, month, day, hour, minute, second, fraction, era = match.groups()
    number = 1 - int(year) if era else int(year)
    cycles, inside = divmod(number - 1, 400)
    try:
        ordinal = date(inside + 1, int(month), int(day)).toordinal() + cycles * _CYCLE_DAYS
    except ValueError:
        raise ConfigError(f"{text!r} is not a date", hint="the saved position is damaged: reset the export's state") from None
    seconds = int(hour or 0) * 3600 + int(minute or 0) * 60 + int(second or 0)
    return (ordinal - _EPOCH_ORDINAL) * MICROS_PER_DAY + seconds * 1_000_000 + int((fraction or "0").ljust(6, "0"))


def micros_near(text: str) -> int:
    """Return what `micros_of` does; for a date that MySQL keeps and no calendar has, of the first day of its month or year."""
    year, month, rest = text[:4], text[5:7], text[10:]
    for known in (text, f"{year}-{month}-01{rest}"):
        try:
            return micros_of(known)
        except ConfigError:
            if not _ANY_DATE.match(text):
                raise
    return micros_of(f"{year}-01-01{rest}")


def refuse_endless(export: str, mark: Mark, kind: TypeKind) -> None:
    """Raise `SourceError` for a cursor at the end of its order: from there on no run would ever find another row."""
    if kind not in (TypeKind.TEXT, TypeKind.ENUM) and mark.value.lower() in _ENDLESS:
        raise SourceError(
            f"{export}: the cursor {mark.column} reached {mark.value}, behind which nothing sorts: later rows would be lost",
            hint="leave such rows out with a `query`, or choose another cursor column",
            error_class="data",
        )


def shift(mark: Mark, kind: TypeKind, seconds: float) -> Mark:
    """Return the mark moved by a span of time, earlier for negative seconds; dates move by whole days, away from the mark.

    Raises `ConfigError` when the column is neither date nor timestamp.
    """
    if kind not in (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
        raise ConfigError(
            f"lookback needs a date or timestamp cursor, {mark.column} is {mark.type}",
            hint="leave out `lookback`, or choose a time column as the cursor",
        )
    micros = micros_near(mark.value) + round(seconds * 1_000_000)
    if kind is TypeKind.DATE:
        days = micros // MICROS_PER_DAY if seconds < 0 else -(-micros // MICROS_PER_DAY)
        return Mark(column=mark.column, type=mark.type, value=date_text(days))
    return Mark(column=mark.column, type=mark.type, value=timestamp_text(micros, zoned=kind is TypeKind.TIMESTAMPTZ))


def order_key(value: str, kind: TypeKind) -> Any:
    """Return what compares like the server compares two marks of this kind, for kinds whose order needs no collation."""
    if kind is TypeKind.INTEGER:
        return int(value)
    if kind is TypeKind.DECIMAL:
        return Decimal(value)
    if kind is TypeKind.FLOAT:
        number = float(value)
        return (number != number, 0.0 if number != number else number)
    if kind in (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
        return micros_of(value)
    if kind is TypeKind.UUID:
        return uuid.UUID(value).bytes
    if kind is TypeKind.BYTES:
        return bytes.fromhex(value.removeprefix("\\x"))
    raise ConfigError(f"the order of {kind} values is the server's own", hint="compare them in a statement")


def to_arrow(mark: Mark, target: pa.DataType) -> pa.Scalar:
    """Return the Arrow value at a mark. Raises `ConfigError` when its text is not a value of the type."""
    try:
        if pa.types.is_timestamp(target) or pa.types.is_date32(target):
            micros = micros_of(mark.value)
            storage = (
                pa.scalar(micros // MICROS_PER_DAY, pa.int32()) if pa.types.is_date32(target) else pa.scalar(micros, pa.int64())
            )
            return storage.cast(target if pa.types.is_date32(target) else pa.timestamp("us", target.tz))
        if pa.types.is_binary(target) or pa.types.is_large_binary(target):
            return pa.scalar(bytes.fromhex(mark.value.removeprefix("\\x")), target)
        if isinstance(target, pa.BaseExtensionType):
            data = uuid.UUID(mark.value).bytes if target.extension_name == "arrow.uuid" else mark.value
            return pa.ExtensionScalar.from_storage(target, pa.scalar(data, target.storage_type))
        if pa.types.is_decimal(target):
            return pa.scalar(Decimal(mark.value), target)
        return pa.scalar(mark.value, pa.string()).cast(target)
    except (pa.ArrowInvalid, ArithmeticError, ValueError) as error:
        raise ConfigError(f"{mark.value!r} is not a value of {target}", hint="the saved position is damaged") from error
