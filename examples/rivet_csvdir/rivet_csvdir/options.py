"""What stands under the source in a config: the folder, and what its files cannot say about themselves."""

from __future__ import annotations

import re
from typing import Annotated

import pyarrow as pa
from pydantic import AfterValidator, Field

from rivet_core.facts import TypeKind
from rivet_core.options import ConfigPath, PluginOptions

_SIMPLE = {
    "bigint": (TypeKind.INTEGER, pa.int64()),
    "double": (TypeKind.FLOAT, pa.float64()),
    "boolean": (TypeKind.BOOLEAN, pa.bool_()),
    "text": (TypeKind.TEXT, pa.string()),
    "date": (TypeKind.DATE, pa.date32()),
    "timestamp": (TypeKind.TIMESTAMP, pa.timestamp("us")),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_NOT_NULL = " not null"


def read_type(text: str) -> tuple[TypeKind, pa.DataType, bool]:
    """Return kind, Arrow type and whether it may be missing for `bigint not null`, `decimal(10,2)`. Raises `ValueError`."""
    name = text.strip().lower().removesuffix(_NOT_NULL).strip()
    nullable = not text.strip().lower().endswith(_NOT_NULL)
    decimal = _DECIMAL.fullmatch(name.replace(" ", ""))
    if decimal:
        return TypeKind.DECIMAL, pa.decimal128(int(decimal[1]), int(decimal[2])), nullable
    if name not in _SIMPLE:
        raise ValueError(f"{text} is no type; there are {', '.join(_SIMPLE)} and decimal(p,s), each with or without not null")
    return (*_SIMPLE[name], nullable)


def source_type(arrow: pa.DataType) -> str:
    """Return a config's word for an Arrow type: marks carry it."""
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    return next(word for word, (_, known) in _SIMPLE.items() if known == arrow)


def _checked(text: str) -> str:
    read_type(text)
    return text


class Table(PluginOptions):
    """One file: the column that identifies a row, and the types of columns that are not text."""

    key: str | None = Field(None, description="column that identifies a row; not null, and believed to be unique")
    columns: dict[str, Annotated[str, AfterValidator(_checked)]] = Field(
        default_factory=dict, description="column -> type; what is not named is text"
    )


class Options(PluginOptions):
    """`path` holds `NAME.csv` files with a header line; `tables` says more about some of them."""

    path: ConfigPath = Field(description="folder with the files")
    delimiter: str = Field(",", min_length=1, max_length=1, description="character between two values")
    tables: dict[str, Table] = Field(default_factory=dict, description="table -> its key and types")
