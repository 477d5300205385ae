"""Type overrides under `columns:` in the config: their vocabulary, as Arrow types."""

from __future__ import annotations

import re

import pyarrow as pa

from rivet_core.errors import ConfigError

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
