"""Guesses between two keys: whatever the ends, they are values of the kind, above the lower one, and never too many."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet_core.errors import ConfigError
from rivet_core.facts import TypeKind
from rivet_core.sql.keyspace import between, values_between
from rivet_core.sql.marks import micros_of


@given(st.integers(-(2**63), 2**64), st.integers(-(2**63), 2**64), st.integers(2, 40))
def test_integers_lie_above_the_lower_end_and_reach_no_higher_than_the_upper(low, high, parts):
    found = [int(text) for text in values_between(TypeKind.INTEGER, str(low), str(high), parts)]
    assert found == sorted(set(found))
    assert all(low < value <= high for value in found)
    assert len(found) <= parts - 1
    assert bool(found) == (high > low)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=9), st.decimals(allow_nan=False, allow_infinity=False, places=9)
)
def test_decimals_lie_between(low, high):
    found = [Decimal(text) for text in values_between(TypeKind.DECIMAL, format(low, "f"), format(high, "f"), 5)]
    assert all(low < value < high for value in found)
    assert len(found) == (4 if high > low else 0)


@given(st.datetimes(), st.datetimes(), st.integers(2, 12))
def test_moments_lie_between(one, other, parts):
    low, high = sorted((one, other))
    found = [micros_of(text) for text in values_between(TypeKind.TIMESTAMP, str(low), str(high), parts)]
    assert all(micros_of(str(low)) < value <= micros_of(str(high)) for value in found)
    assert found == sorted(found)


@given(st.binary(max_size=20), st.binary(max_size=20), st.integers(2, 12))
def test_bytes_lie_behind_the_common_beginning(one, other, parts):
    low, high = sorted((one, other))
    for text in values_between(TypeKind.BYTES, f"\\x{low.hex()}", f"\\x{high.hex()}", parts):
        assert bytes.fromhex(text.removeprefix("\\x")) > low[:8]


@given(st.text(max_size=12), st.text(max_size=12), st.integers(2, 30))
def test_texts_use_letters_that_the_column_has(low, high, parts):
    allowed = {*low, *high, *map(chr, range(32, 127))}
    for text in values_between(TypeKind.TEXT, low, high, parts):
        assert set(text) <= allowed
        assert text
        assert "\0" not in text.removeprefix(low[: len(text)])


@given(st.uuids(), st.uuids(), st.integers(2, 20), st.sampled_from(["lower", "upper", "hex"]))
def test_uuids_stay_uuids(one, other, parts, form):
    low, high = sorted((one, other))
    write = {"lower": str, "upper": lambda u: str(u).upper(), "hex": lambda u: u.hex}[form]
    found = values_between(TypeKind.TEXT, write(low), write(high), parts)
    numbers = [uuid.UUID(text).int for text in found]
    assert numbers == sorted(numbers)
    assert all(low.int < number <= high.int for number in numbers)


def test_the_first_position_that_differs_is_cut():
    kinds = (TypeKind.INTEGER, TypeKind.TEXT)
    assert between(kinds, ("3", "a"), ("9", "b"), 3) == [("5",), ("7",)]
    assert between(kinds, ("3", "aa"), ("3", "ac"), 2) == [("3", "ab")]
    assert between(kinds, ("3", "z"), ("4", "a"), 4) == [("4",)]
    assert between(kinds, ("3", "a"), ("3", "a"), 4) == []


def test_a_kind_without_values_in_between_is_refused():
    with pytest.raises(ConfigError, match="no values in between"):
        values_between(TypeKind.JSON, "1", "2", 2)
