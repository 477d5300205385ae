"""Streams with bytes changed, dropped, added and moved: refused or read, never a crash, never arrays that hold together badly.

The long run, in a build with the address sanitizer, is `python -m benchmarks.fuzz`.
"""

from __future__ import annotations

import random
import struct

import pyarrow as pa
import pytest

from rivet_pgcopy import DecodeError, take

from .streams import HEADER, TRAILER, array, decoder_for, numeric, row

COLUMNS = [
    (16, pa.bool_()),
    (21, pa.int16()),
    (23, pa.int32()),
    (20, pa.int64()),
    (26, pa.int64()),
    (701, pa.float64()),
    (25, pa.string()),
    (17, pa.binary()),
    (3802, pa.json_(pa.utf8())),
    (1082, pa.date32()),
    (1083, pa.time64("us")),
    (1184, pa.timestamp("us", "UTC")),
    (2950, pa.uuid()),
    (1700, pa.decimal128(20, 4)),
    (1700, pa.decimal256(60, 10)),
    (1007, pa.list_(pa.int32())),
    (1009, pa.list_(pa.string())),
    (1231, pa.list_(pa.decimal128(12, 3))),
    (1000, pa.list_(pa.bool_())),
]
FULL = row(
    b"\1",
    b"\0\7",
    bytes(4),
    bytes(8),
    b"\xff" * 4,
    struct.pack(">d", 1.5),
    b"some text",
    b"\0\xff",
    b'\1{"a": 1}',
    bytes(4),
    bytes(8),
    struct.pack(">q", 2**63 - 1),
    bytes(16),
    numeric("-1234567890.1234"),
    numeric("9" * 50 + ".5"),
    array(23, [bytes(4), None, bytes(4)]),
    array(25, [b"a", b"", None, b"longer than that"]),
    array(1700, [numeric("1.5"), numeric("NaN")]),
    array(16, [b"\1", None, b"\0"]),
)
STREAM = [HEADER, FULL, row(*[None] * len(COLUMNS)), FULL, TRAILER]


def mutate(dice: random.Random, message: bytes) -> bytes:
    data = bytearray(message)
    for _ in range(dice.choice((1, 1, 2, 8))):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(6)
        if kind == 0 and at < len(data):
            data[at] = dice.randrange(256)
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 2:
            del data[at : at + dice.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = dice.randbytes(dice.randrange(1, 9))
        elif kind == 4:
            data[at : at + 4] = struct.pack(">i", dice.choice((-2, -1, 0, 1, 2**31 - 1, -(2**31), len(data))))
        else:
            begin = dice.randrange(len(data) + 1)
            data[at:at] = data[begin : begin + dice.randrange(32)]
    return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_changed_streams_are_refused_or_read(seed):
    dice = random.Random(seed)
    schema = pa.schema([(f"c{at}", arrow) for at, (_, arrow) in enumerate(COLUMNS)])
    refused: list[int] = []
    for _ in range(1500):
        decoder = decoder_for(COLUMNS)
        changed = dice.randrange(len(STREAM))
        try:
            for at, message in enumerate(STREAM):
                decoder.feed(mutate(dice, message) if at == changed else message)
        except DecodeError as error:
            refused.append(error.args[0])
            continue
        batch = take(decoder, schema)
        batch.validate()
        for column, (_, arrow) in zip(batch.columns, COLUMNS, strict=True):
            if not (pa.types.is_string(arrow) or isinstance(arrow, pa.BaseExtensionType) or arrow == pa.list_(pa.string())):
                column.validate(full=True)  # texts may not be UTF-8 any more: that is the server's to hold
    assert 500 < len(refused) < 1500
    assert set(refused) >= {-1, 0, 7, len(COLUMNS) - 1}
    assert set(refused) <= set(range(-1, len(COLUMNS)))
