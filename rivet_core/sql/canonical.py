"""The canonical text of a row, and the digest of many: what a source and the files of a dataset are compared by.

Both sides spell every value alike, whatever engine or file format it lies in: integers as digits, decimals without trailing
zeros, moments as microseconds from 1970, bytes as hex, floats as their IEEE bits. `docs/reconcile.md` has the whole table.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rivet_core.facts import UnitDigest

MODULUS = 1 << 64
"""Digests are sums modulo this number, so that those of units add up to that of their union."""
NAN = "nan"
_TEXT = pa.large_string()
_SCALE = {"s": 1_000_000, "ms": 1_000, "us": 1}


class RowDigest:
    """Adds up the digest of rows, batch by batch, over `columns` in this order."""

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self._columns = tuple(columns)
        self._rows = 0
        self._total = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch, which has all of the columns."""
        self.add_texts([canonical(batch.column(name)) for name in self._columns], batch.num_rows)

    def add_texts(self, columns: Sequence[pa.Array], rows: int) -> None:
        """Count rows whose columns are canonical texts already."""
        if not rows:
            return
        self._rows += rows
        self._total = (self._total + sum(map(hash_of, row_texts(columns, rows)))) % MODULUS

    def finish(self, left_out: Sequence[str] = ()) -> UnitDigest:
        """Return the digest of all rows so far."""
        return UnitDigest(rows=self._rows, total=self._total, left_out=tuple(left_out))


def digest_of(batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> UnitDigest:
    """Return the digest of all rows: what a source without hash functions answers from what it reads."""
    digest = RowDigest(columns)
    for batch in batches:
        digest.add(batch)
    return digest.finish()


def hash_of(text: bytes) -> int:
    """Return the first 8 bytes of the SHA-256 of a row's text, as an unsigned number."""
    return int.from_bytes(hashlib.sha256(text).digest()[:8])


def row_texts(columns: Sequence[pa.Array], rows: int) -> list[bytes]:
    """Return the text of every row from its columns' texts: `length:text` for each, the length in bytes, or `-` for NULL."""
    fields = [_prefixed(column) for column in columns]
    if not fields:
        return [b""] * rows
    joined = fields[0] if len(fields) == 1 else pc.binary_join_element_wise(*fields, pa.scalar("", _TEXT))
    texts: list[bytes] = joined.cast(pa.large_binary()).to_pylist()
    return texts


def has_canonical(kind: pa.DataType) -> bool:
    """Whether values of this Arrow type have a canonical text; a column of another type is left out of digests by name."""
    if isinstance(kind, pa.BaseExtensionType):
        return has_canonical(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return has_canonical(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return not pa.types.is_nested(kind.value_type) and has_canonical(kind.value_type)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        return kind.unit in _SCALE
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def canonical(column: pa.Array) -> pa.Array:
    """Return the values of a column as their canonical texts, NULL where they are NULL. The type must have one."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return canonical(column.storage)
    if pa.types.is_dictionary(kind):
        return canonical(column.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.cast(_TEXT)
    if pa.types.is_boolean(kind):
        return pc.if_else(column, pa.scalar("1", _TEXT), pa.scalar("0", _TEXT))
    if pa.types.is_integer(kind):
        return column.cast(pa.string()).cast(_TEXT)
    if pa.types.is_floating(kind):
        return _each(column.cast(pa.float64()).to_pylist(), float_bits)
    if pa.types.is_decimal(kind):
        return _decimals(column)
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).cast(pa.string()).cast(_TEXT)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        return _micros(column)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(column)
    return _each(column.to_pylist(), bytes.hex)


def float_bits(value: float) -> str:
    """Return the IEEE 754 double of a number as 16 hex digits, the most significant first; every NaN is alike."""
    return NAN if value != value else struct.pack(">d", value).hex()


def decimal_text(value: Decimal) -> str:
    """Return plain notation without trailing zeros; zero has no sign."""
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _decimals(column: pa.Array) -> pa.Array:
    text = column.cast(pa.string())
    if pc.any(pc.match_substring(text, "E")).as_py():  # Arrow writes small ones with an exponent
        return _each(column.to_pylist(), decimal_text)
    plain = pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".") if column.type.scale > 0 else text
    return plain.cast(_TEXT)


def _micros(column: pa.Array) -> pa.Array:
    scale = _SCALE[column.type.unit]
    storage = pa.int32() if pa.types.is_time32(column.type) else pa.int64()
    numbers = column.view(storage).cast(pa.int64())
    return (numbers if scale == 1 else pc.multiply_checked(numbers, scale)).cast(pa.string()).cast(_TEXT)


def _lists(column: pa.Array) -> pa.Array:
    """Return each list as its elements, each with its length in front or `-`, one behind the other."""
    elements: list[Any] = _prefixed(canonical(column.flatten())).to_pylist()
    texts: list[str | None] = []
    at = 0
    for length in pc.list_value_length(column).to_pylist():
        texts.append(None if length is None else "".join(elements[at : at + length]))
        at += length or 0
    return pa.array(texts, _TEXT)


def _prefixed(text: pa.Array) -> pa.Array:
    lengths = pc.binary_length(text.cast(pa.large_binary())).cast(pa.string()).cast(_TEXT)
    return pc.fill_null(pc.binary_join_element_wise(lengths, text, pa.scalar(":", _TEXT)), "-")


def _each(values: list[Any], text: Any) -> pa.Array:
    return pa.array([None if value is None else text(value) for value in values], _TEXT)
