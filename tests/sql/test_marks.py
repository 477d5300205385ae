from __future__ import annotations

import uuid
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet_core.errors import ConfigError
from rivet_core.facts import Mark, TypeKind
from rivet_core.sql.marks import date_text, mark_of, mark_text, micros_of, order_key, shift, timestamp_text, to_arrow


@pytest.mark.parametrize(
    ("value", "arrow", "text"),
    [
        (-9223372036854775808, pa.int64(), "-9223372036854775808"),
        (18446744073709551615, pa.uint64(), "18446744073709551615"),
        (Decimal("1.0000000000000001"), pa.decimal128(32, 16), "1.0000000000000001"),
        (Decimal("-0.000001"), pa.decimal128(18, 6), "-0.000001"),
        (0.1, pa.float64(), "0.1"),
        (1, pa.timestamp("us", "UTC"), "1970-01-01 00:00:00.000001+00"),
        (-1, pa.timestamp("us"), "1969-12-31 23:59:59.999999"),
        (b"\x00\xff", pa.binary(), "\\x00ff"),
        ("ab ", pa.string(), "ab "),
        (True, pa.bool_(), "1"),
    ],
)
def test_text_and_back_at_full_precision(value, arrow, text):
    scalar = pa.scalar(value, arrow)
    assert mark_text(scalar) == text
    if arrow != pa.bool_():
        assert to_arrow(Mark(column="c", type="t", value=text), arrow) == scalar


def test_uuid_marks():
    value = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    array = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([value.bytes, None], pa.binary(16)))
    assert mark_text(array[0]) == str(value)
    assert mark_text(array[1]) is None
    assert to_arrow(Mark(column="c", type="uuid", value=str(value)), pa.uuid()).as_py() == value


def test_null_has_no_mark():
    assert mark_of("c", "integer", pa.scalar(None, pa.int32())) is None


@given(st.integers(-2_400_000, 3_000_000_0))
def test_dates_of_any_year(days):
    assert micros_of(date_text(days)) == days * 86_400_000_000


@given(st.integers(-200_000_000_000_000_000, 9_000_000_000_000_000_000), st.booleans())
def test_timestamps_of_any_year(micros, zoned):
    assert micros_of(timestamp_text(micros, zoned=zoned)) == micros


def test_far_dates_are_spelled_like_the_server_does():
    assert date_text(-719163) == "0001-12-31 BC"
    assert date_text(2932897) == "10000-01-01"
    assert timestamp_text(-62135596800000001, zoned=True) == "0001-12-31 23:59:59.999999+00 BC"


def test_shift_for_lookback():
    mark = Mark(column="u", type="timestamp", value="2026-03-01 00:00:00.5")
    assert shift(mark, TypeKind.TIMESTAMP, -600).value == "2026-02-28 23:50:00.500000"
    day = Mark(column="d", type="date", value="2026-03-01")
    assert shift(day, TypeKind.DATE, -600).value == "2026-02-28"
    with pytest.raises(ConfigError, match="lookback"):
        shift(Mark(column="id", type="integer", value="5"), TypeKind.INTEGER, -600)


def test_i05_integers_are_never_compared_as_text():
    assert order_key("9", TypeKind.INTEGER) < order_key("10", TypeKind.INTEGER)
    with pytest.raises(ConfigError):
        order_key("9", TypeKind.TEXT)


@pytest.mark.parametrize("text", ["infinity", "2026-02-30", "now()", ""])
def test_a_damaged_mark_is_refused(text):
    with pytest.raises(ConfigError):
        micros_of(text)
