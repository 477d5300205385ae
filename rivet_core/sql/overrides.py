"""Type overrides under `columns:` in the config: their vocabulary, as Arrow types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from rivet_core.errors import ConfigError
from rivet_core.facts import TypeKind

_DECIMAL = re.compile(r"(?:decimal|numeric)\(\s*(\d+)\s*,\s*(\d+)\s*\)\Z")

_NAMES: dict[str, pa.DataType] = {
    **dict.fromkeys(("text", "string", "varchar"), pa.string()),
    **dict.fromkeys(("smallint", "int2", "int16"), pa.int16()),
    **dict.fromkeys(("int", "integer", "int4", "int32"), pa.int32()),
    **dict.fromkeys(("bigint", "int8", "int64"), pa.int64()),
    **dict.fromkeys(("real", "float4", "float"), pa.float32()),
    **dict.fromkeys(("double", "float8", "double precision"), pa.float64()),
    **dict.fromkeys(("bool", "boolean"), pa.bool_()),
    **dict.fromkeys(("binary", "bytea", "varbinary", "blob"), pa.binary()),
    "uint64": pa.uint64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    **dict.fromkeys(("timestamptz", "timestamp_tz"), pa.timestamp("us", "UTC")),
}
# Extension types that older pyarrow versions do not have.
if hasattr(pa, "uuid"):
    _NAMES["uuid"] = pa.uuid()
if hasattr(pa, "json_"):
    _NAMES |= dict.fromkeys(("json", "jsonb"), pa.json_(pa.utf8()))


def parse_override(column: str, text: str) -> pa.DataType:
    """Return the Arrow type of an override; decimals with a precision over 38 are 256 bits wide.

    Raises `ConfigError` naming the column for a type outside the vocabulary.
    """
    asked = " ".join(text.lower().split())
    if match := _DECIMAL.match(asked):
        precision, scale = int(match[1]), int(match[2])
        if not 1 <= precision <= 76 or scale > precision:
            raise ConfigError(f"columns.{column}: {text} is not possible", hint="a precision from 1 to 76 and a scale up to it")
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    if asked in _NAMES:
        return _NAMES[asked]
    known = ", ".join(sorted(_NAMES))
    raise ConfigError(f"columns.{column}: the type {text!r} is not known", hint=f"one of decimal(p,s), {known}")


_COUNTS = frozenset({TypeKind.INTEGER, TypeKind.DECIMAL, TypeKind.FLOAT, TypeKind.BOOLEAN})
_SPANS = frozenset({TypeKind.TIME, TypeKind.INTERVAL})
_MOMENTS = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ}) | _SPANS


def refuse_units(column: str, source_type: str, kind: TypeKind, target: pa.DataType) -> None:
    """Raise `ConfigError` for numbers as moments and moments as numbers: of what unit, since when, no override says.

    Arrow would take microseconds for timestamps and days for dates: 1700000000 seconds would become half past midnight, 1970.
    """
    number = pa.types.is_integer(target) or pa.types.is_floating(target) or pa.types.is_decimal(target)
    moment = pa.types.is_date(target) or pa.types.is_timestamp(target)
    if (kind in _COUNTS | _SPANS and moment) or (kind in _MOMENTS and (number or pa.types.is_boolean(target))):
        raise ConfigError(
            f"columns.{column}: a {source_type} cannot become {target}: an override does not say the unit",
            hint="convert it in a `query`",
        )


def as_floats(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return numbers, or their text, as floats: rounded from fractions, exact from integers.

    Raises `ValueError` (as Arrow does) for a value that becomes infinite or nothing on the way, and for an integer that the
    float cannot hold.
    """
    if pa.types.is_integer(array.type):
        result = array.cast(target)
        if not result.cast(array.type).equals(array):
            raise ValueError("a value has more digits than a float holds")
        return result
    text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    if not text and not pa.types.is_floating(array.type):
        return array.cast(target)
    result = array.cast(target, safe=not pa.types.is_floating(array.type))
    endless = pc.match_substring_regex(array, "(?i)inf") if text else pc.is_inf(array)
    nothing = pc.invert(pc.match_substring_regex(array, "^[^eE]*[1-9]")) if text else pc.equal(array, 0)
    lost = pc.or_(pc.and_not(pc.is_inf(result), endless), pc.and_not(pc.equal(result, 0), nothing))
    if pc.any(lost).as_py():
        raise ValueError(f"a value is outside of the range of {target}")
    return result


def require_json(values: Iterable[str | None]) -> None:
    """Raise `ValueError` for the first text that is no JSON (RFC 8259): readers take the word of the column's type for it."""
    for value in values:
        if value is not None:
            try:
                _JSON.decode(value)
            except RecursionError:
                raise ValueError("a value is nested too deeply to be checked") from None
            except ValueError as error:
                why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                raise ValueError(f"a value is no JSON: {why}") from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number there")


# Numbers stay text: one of thousands of digits is JSON, too.
_JSON = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)
