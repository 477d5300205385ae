"""COPY binary, written by hand: what a server sends, and what one never would."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from decimal import Decimal

import pyarrow as pa

from rivet_pgcopy import Decoder, Field, field_of, take

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
NOWHERE = (0, 0, 0, 0)


def value(data: bytes | None) -> bytes:
    """Return a field: its length, and what it holds."""
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def row(*fields: bytes | None) -> bytes:
    return struct.pack(">h", len(fields)) + b"".join(value(field) for field in fields)


def array(element: int, items: Sequence[bytes | None], *, bounds: Sequence[tuple[int, int]] | None = None) -> bytes:
    """Return an array; `bounds` are (size, lower bound) of each dimension, one of the items' number by default."""
    bounds = [(len(items), 1)] if bounds is None else bounds
    head = struct.pack(">iiI", len(bounds), int(None in items), element)
    return head + b"".join(struct.pack(">ii", *one) for one in bounds) + b"".join(value(item) for item in items)


def numeric(text: str) -> bytes:
    """Return a numeric as the server's numeric_send gives it."""
    specials = {"NaN": 0xC000, "Infinity": 0xD000, "-Infinity": 0xF000}
    if text in specials:
        return struct.pack(">hhHh", 0, 0, specials[text], 0)
    number = Decimal(text)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    whole = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole = whole.rjust(scale + 1, "0")
    left, right = whole[: len(whole) - scale], whole[len(whole) - scale :]
    left = left.rjust(-(-len(left) // 4) * 4, "0")
    right = right.ljust(-(-len(right) // 4) * 4, "0")
    groups = [int((left + right)[at : at + 4]) for at in range(0, len(left + right), 4)]
    weight = len(left) // 4 - 1
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    while groups and groups[-1] == 0:
        groups = groups[:-1]
    head = struct.pack(">hhHh", len(groups), weight if groups else 0, 0x4000 if sign and groups else 0, scale)
    return head + b"".join(struct.pack(">h", group) for group in groups)


def decoder_for(columns: Iterable[tuple[int, pa.DataType]]) -> Decoder:
    """Return a decoder of columns given as (the server's type, Arrow's)."""
    fields: list[Field] = []
    for oid, arrow in columns:
        field = field_of(oid, arrow)
        assert field is not None, (oid, arrow)
        fields.append(field)
    return Decoder(tuple(field.record for field in fields), NOWHERE)


def decode(columns: Sequence[tuple[int, pa.DataType]], *messages: bytes) -> tuple[pa.RecordBatch, tuple[int, ...]]:
    """Return the rows of a stream that is whole, checked by Arrow, and the counts of values that became NULL."""
    decoder = decoder_for(columns)
    for message in messages:
        decoder.feed(message)
    outside = decoder.outside()
    batch = take(decoder, pa.schema([(f"c{at}", arrow) for at, (_, arrow) in enumerate(columns)]))
    batch.validate(full=True)
    return batch, outside


def column(oid: int, arrow: pa.DataType, *values: bytes | None) -> tuple[list[object], int]:
    """Return one column's values, and how many became NULL."""
    batch, outside = decode([(oid, arrow)], HEADER, *(row(one) for one in values), TRAILER)
    return batch.column(0).to_pylist(), outside[0]
