"""Numerics of any size, against Python's own decimals."""

from __future__ import annotations

import struct
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet_pgcopy import DecodeError

from .streams import HEADER, TRAILER, column, decode, numeric, row

NUMERIC = 1700
WIDE = Context(prec=100)


def arrow_of(precision, scale):
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


@st.composite
def numbers(draw):
    precision = draw(st.integers(1, 76))
    scale = draw(st.integers(0, precision))
    unscaled = draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    return precision, scale, Decimal(unscaled).scaleb(-scale, context=WIDE)


@settings(max_examples=600, deadline=None)
@given(numbers(), st.integers(0, 8))
def test_every_decimal_comes_out_as_it_went_in(case, zeros):
    precision, scale, number = case
    text = format(number, "f")
    text += "0" * zeros if "." in text else ""
    assert column(NUMERIC, arrow_of(precision, scale), numeric(text)) == ([number], 0)


@pytest.mark.parametrize(
    ("text", "precision", "scale"),
    [
        ("0", 1, 0), ("0.00", 2, 2), ("-0.01", 30, 30), ("9" * 38, 38, 0), ("-" + "9" * 38, 38, 0), ("9" * 76, 76, 0),
        ("-" + "9" * 76, 76, 0), ("0." + "9" * 76, 76, 76), ("1" + "0" * 37, 38, 0), ("12345678901234567890.5", 60, 10),
        ("12300", 7, 0), ("10000", 5, 0), ("10000000000000000", 17, 0), ("100000000000000000000", 21, 0), ("0.0001", 5, 5),
        ("99999999.9999", 12, 4), ("1.0000000000000001", 32, 16),
    ],
)  # fmt: skip
def test_edges(text, precision, scale):
    values, outside = column(NUMERIC, arrow_of(precision, scale), numeric(text))
    assert (values, outside) == ([Decimal(text)], 0)


@pytest.mark.parametrize(
    ("text", "precision", "scale"),
    [
        ("10", 1, 0), ("0.1", 5, 0), ("0.001", 5, 2), ("1.00001", 10, 4), ("1" + "0" * 38, 38, 0), ("1" + "0" * 76, 76, 0),
        ("1", 30, 30), ("-100000", 5, 0), ("0.000000001", 5, 5), ("123456.7", 7, 2), ("1e400", 76, 0), ("1e-400", 76, 76),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_never_rounded(text, precision, scale):
    sent = numeric(format(Decimal(text), "f"))
    with pytest.raises(DecodeError, match="more digits"):
        decode([(NUMERIC, arrow_of(precision, scale))], HEADER, row(sent))


@pytest.mark.parametrize("arrow", [pa.decimal128(10, 2), pa.decimal256(50, 3)])
def test_what_is_no_number_is_counted(arrow):
    sent = [numeric(text) for text in ("NaN", "Infinity", "-Infinity", "1.5")]
    assert column(NUMERIC, arrow, *sent, None) == ([None, None, None, Decimal("1.5"), None], 3)


def test_leading_and_trailing_groups_of_zeros_change_nothing():
    sent = struct.pack(">hhHh4h", 4, 2, 0x4000, 2, 0, 0, 12, 3400)
    batch, _ = decode([(NUMERIC, pa.decimal128(10, 2))], HEADER, row(sent), TRAILER)
    assert batch.column(0).to_pylist() == [Decimal("-12.34")]
    assert column(NUMERIC, pa.decimal128(10, 2), struct.pack(">hhHh3h", 3, 30000, 0, 0, 0, 0, 0)) == ([Decimal(0)], 0)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        bytes(7),
        struct.pack(">hhHh", 1, 0, 0, 0),
        struct.pack(">hhHhh", 0, 0, 0, 0, 1),
        struct.pack(">hhHhh", 1, 0, 0, 0, 10000),
        struct.pack(">hhHhh", 1, 0, 0, 0, -1),
        struct.pack(">hhHhh", 1, 0, 0x1234, 0, 1),
        struct.pack(">HhHh", 65535, 0, 0, 0),
        struct.pack(">hhHhhh", 2, 0, 0, 0, 1, 10000),
        struct.pack(">hhHhh", 1, 32767, 0, 0, 1),
        struct.pack(">hhHhh", 1, -32768, 0, 0, 1),
    ],
)
def test_bytes_that_are_no_numeric_are_refused(sent):
    with pytest.raises(DecodeError):
        decode([(NUMERIC, pa.decimal128(38, 10))], HEADER, row(sent))
