"""The types of config values: each one validates, explains itself in one sentence, and knows its JSON Schema."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from rivet_core.api import PLUGIN_CODE
from rivet_core.config.quantities import MAX_SIZE, MAX_SPAN, read_date, read_deadline, read_size, read_span
from rivet_core.facts import MAX_WAVES
from rivet_core.stores import segment

MAX_NAME_BYTES = 200
MAX_POINTS = 40

_SPAN_SCHEMA = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": MAX_SPAN},
        {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|[smhd]))+$"},
    ]
}
_SIZE_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MAX_SIZE},
        {"type": "string", "pattern": r"^\d+(\.\d+)?\s*[kKmMgGtT]?(i?[bB])?$"},
    ]
}
_NAMES_SCHEMA = {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True}
_ANY_CODE = rf"RV\d{{3}}|{PLUGIN_CODE}"
_CODE = re.compile(rf"(?:{_ANY_CODE})\Z", re.ASCII)


class Section(BaseModel):
    """Base of every section: no unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, regex_engine="python-re")


def read_name(value: object) -> str:
    """Return a name that can be one path component on every store. Raises `ValueError`."""
    text = read_text(value)
    if text in {".", ".."} or any(char in "/\\" or ord(char) < 32 or 127 <= ord(char) < 160 for char in text):
        raise ValueError("must be usable as the name of a directory: no / or \\, no control characters, not . or ..")
    if text != text.strip():
        raise ValueError("must not begin or end with a space")
    if len(segment(text).encode()) > MAX_NAME_BYTES:
        raise ValueError(f"must be at most {MAX_NAME_BYTES} bytes long, as the name of a directory")
    return text


def read_text(value: object) -> str:
    """Return non-blank text. Raises `ValueError`."""
    if isinstance(value, bool) or not isinstance(value, str):
        raise ValueError("must be text; put quotes around it")
    if not value.strip():
        raise ValueError("must not be empty")
    if "\0" in value:
        raise ValueError("must not hold a NUL character")
    return value


def read_names(value: object) -> list[str]:
    """Return a list of distinct names. Raises `ValueError`."""
    if not isinstance(value, list):
        raise ValueError("must be a list, such as [a, b]")
    names = [read_text(item) for item in value]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"names {name} twice")
    return names


def read_columns(value: object) -> list[str] | dict[str, str]:
    """Return a selection (list) or type overrides (mapping). Raises `ValueError`."""
    if isinstance(value, dict):
        if not value:
            raise ValueError("must not be empty; leave it out to read every column")
        for column, override in value.items():
            if not isinstance(override, str) or not override.strip():
                raise ValueError(f"gives column {column} no type; write a type such as decimal(18,2)")
        return {read_text(column): override for column, override in value.items()}
    if not isinstance(value, list):
        raise ValueError("must be a list of columns, or a mapping from columns to types")
    names = read_names(value)
    if not names:
        raise ValueError("must not be empty; leave it out to read every column")
    return names


def read_row_hash(value: object) -> bool | list[str]:
    """Return whether to add the hash column, or the columns that it covers. Raises `ValueError`."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, list):
        raise ValueError("must be true, false or a list of columns")
    if not value:
        raise ValueError("must not be an empty list; write true for every column")
    return read_names(value)


def read_partition(value: object) -> list[str]:
    """Return the partition columns from one name or a list. Raises `ValueError`."""
    names = read_names(value) if isinstance(value, list) else [read_text(value)]
    if not names:
        raise ValueError("must not be empty")
    return names


def read_key(value: object) -> str | bool:
    """Return a key column, or true for the primary key. Raises `ValueError`."""
    return value if isinstance(value, bool) else read_text(value)


def read_waves(value: object) -> int | str:
    """Return the asked number of waves, or `auto`. Raises `ValueError`."""
    if value == "auto":
        return "auto"
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_WAVES:
        return value
    raise ValueError(f"must be a number from 1 to {MAX_WAVES}, or auto")


def read_rule(value: object) -> int | None:
    """Return a rule's points, `None` for off. Raises `ValueError`."""
    if value == "off":
        return None
    if isinstance(value, dict) and set(value) == {"points"}:
        points = value["points"]
        if isinstance(points, int) and not isinstance(points, bool) and abs(points) <= MAX_POINTS:
            return points
        raise ValueError(f"must give whole points from -{MAX_POINTS} to {MAX_POINTS}")
    raise ValueError("must be {points: N} or off")


def read_code(value: object) -> str:
    """Return a reason code. Raises `ValueError`."""
    if isinstance(value, str) and _CODE.match(value):
        return value
    raise ValueError("must be a reason code such as RV201 or X-VENDOR-001")


Text = Annotated[str, BeforeValidator(read_text), WithJsonSchema({"type": "string", "minLength": 1})]
Name = Annotated[
    str, BeforeValidator(read_name), WithJsonSchema({"type": "string", "minLength": 1, "pattern": r"^[^/\\\x00-\x1f]+$"})
]
Names = Annotated[list[str], BeforeValidator(read_names), WithJsonSchema(_NAMES_SCHEMA)]
Columns = Annotated[
    list[str] | dict[str, str],
    BeforeValidator(read_columns),
    WithJsonSchema(
        {
            "anyOf": [
                {**_NAMES_SCHEMA, "minItems": 1},
                {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string", "minLength": 1}},
            ]
        }
    ),
]
RowHash = Annotated[
    bool | list[str],
    BeforeValidator(read_row_hash),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {**_NAMES_SCHEMA, "minItems": 1}]}),
]
PartitionBy = Annotated[
    list[str],
    BeforeValidator(read_partition),
    WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {**_NAMES_SCHEMA, "minItems": 1}]}),
]
KeyChoice = Annotated[
    str | bool, BeforeValidator(read_key), WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {"type": "boolean"}]})
]
Span = Annotated[float, BeforeValidator(read_span), WithJsonSchema(_SPAN_SCHEMA)]
Size = Annotated[int, BeforeValidator(read_size), WithJsonSchema(_SIZE_SCHEMA)]
Deadline = Annotated[
    str, BeforeValidator(read_deadline), WithJsonSchema({"type": "string", "pattern": r"^\d\d:\d\d(Z|[+-]\d\d:\d\d)?$"})
]
Day = Annotated[date, BeforeValidator(read_date), WithJsonSchema({"type": "string", "format": "date"})]
Waves = Annotated[
    int | str,
    BeforeValidator(read_waves),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_WAVES}, {"const": "auto"}]}),
]
Rule = Annotated[
    int | None,
    BeforeValidator(read_rule),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "off"},
                {
                    "type": "object",
                    "properties": {"points": {"type": "integer", "minimum": -MAX_POINTS, "maximum": MAX_POINTS}},
                    "required": ["points"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
Code = Annotated[str, BeforeValidator(read_code), WithJsonSchema({"type": "string", "pattern": rf"^({_ANY_CODE})$"})]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
NotNegative = Annotated[int, Field(ge=0, le=2**31 - 1)]
Ratio = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=2_147_483, allow_inf_nan=False)]
"""As many as a server takes as a timeout: PostgreSQL counts milliseconds in 32 bits."""
Anything = Any
Grant = Literal["base", "gate"]
