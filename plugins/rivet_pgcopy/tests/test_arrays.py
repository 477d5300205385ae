"""Arrays of one dimension as lists; everything else about them is checked."""

from __future__ import annotations

import struct
from decimal import Decimal

import pyarrow as pa
import pytest

from rivet_pgcopy import DecodeError

from .streams import HEADER, array, column, decode, numeric, row

INTS = (1007, pa.list_(pa.int32()))


def ints(*values):
    return [None if one is None else struct.pack(">i", one) for one in values]


def test_lists_of_numbers_with_nulls_and_empty_ones():
    sent = [array(23, ints(1, None, 3)), None, array(23, [], bounds=()), array(23, ints(None)), array(23, ints(*range(1000)))]
    assert column(*INTS, *sent) == ([[1, None, 3], None, [], [None], list(range(1000))], 0)


def test_lists_of_texts_and_decimals():
    sent = array(25, [b"", None, b"NULL", b"a,b"])
    assert column(1009, pa.list_(pa.string()), sent, None, sent)[0] == [
        ["", None, "NULL", "a,b"],
        None,
        ["", None, "NULL", "a,b"],
    ]
    sent = array(1700, [numeric("1.5"), None, numeric("NaN")])
    assert column(1231, pa.list_(pa.decimal128(5, 1)), sent) == ([[Decimal("1.5"), None, None]], 1)


def test_lists_in_batches_begin_at_zero_each_time():
    for _ in range(2):
        values, _ = column(*INTS, *[array(23, ints(at, at)) for at in range(3000)])
        assert values == [[at, at] for at in range(3000)]


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [([(2, 1), (2, 1)], "[1:2][1:2]"), ([(4, 0)], "[0:3]"), ([(1, -3), (4, 0)], "[-3:-3][0:3]"), ([(1, 1)] * 6, "[1:1]" * 6)],
)
def test_dimensions_that_a_list_cannot_keep_are_refused_and_shown(bounds, shown):
    with pytest.raises(DecodeError) as caught:
        decode([INTS], HEADER, row(array(23, ints(1, 2, 3, 4), bounds=bounds)))
    assert caught.value.args == (0, "an array has dimensions that a list cannot keep", shown)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        array(23, ints(1))[:11],
        array(23, ints(1))[:-1],
        array(23, ints(1)) + b"\0",
        array(23, [], bounds=()) + b"\0",
        array(25, ints(1)),
        array(23, [b"\0\0\0"]),
        array(23, ints(1), bounds=[(2, 1)]),
        array(23, ints(1, 2), bounds=[(1, 1)]),
        array(23, ints(1), bounds=[(-1, 1)]),
        array(23, ints(1), bounds=[(2**31 - 1, 1)]),
        array(23, ints(1), bounds=[(1, 1)] * 7),
        struct.pack(">iiI", -1, 0, 23),
        struct.pack(">iiI", 1, 2, 23) + struct.pack(">ii", 0, 1),
        struct.pack(">iiIiii", 1, 0, 23, 1, 1, -2),
        struct.pack(">iiIiii", 1, 0, 23, 1, 1, 2**31 - 1),
    ],
)
def test_arrays_that_no_server_sends_are_refused(sent):
    with pytest.raises(DecodeError):
        decode([INTS], HEADER, row(sent))
