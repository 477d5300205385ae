from __future__ import annotations

import bisect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet_core.errors import ConfigError
from rivet_core.facts import UnitKind
from rivet_core.sql.ranges import MAX_UNITS, integer_cuts, tile, unit_count, value_cuts

KEYS = st.integers(-(2**63), 2**64 - 1)


def filled(cuts, values):
    """How many units hold at least one value."""
    return len({bisect.bisect_left(cuts, value) for value in values})


@given(st.lists(KEYS, min_size=1, max_size=200), st.integers(1, 300), st.booleans())
def test_cuts_tile_whatever_the_values(values, units, with_bounds):
    low, high = min(values), max(values)
    bounds = sorted(values) if with_bounds else ()
    cuts = integer_cuts(low=low, high=high, units=units, rows=len(values), bounds=bounds)
    assert list(cuts) == sorted(set(cuts))
    assert all(low <= cut < high for cut in cuts)
    assert filled(cuts, values) <= len(set(values))
    assert len(cuts) < MAX_UNITS


@pytest.mark.parametrize("units", [1, 2, 3, 10, 11, 100])
def test_c07_eleven_values_in_any_number_of_units(units):
    cuts = integer_cuts(low=0, high=10, units=units, rows=11)
    sizes = [len([v for v in range(11) if bisect.bisect_left(cuts, v) == i]) for i in range(len(cuts) + 1)]
    assert sum(sizes) == 11
    assert len(sizes) == min(units, 11)
    assert all(sizes)


def test_c07_reversed_bounds_are_refused():
    with pytest.raises(ConfigError, match="above"):
        integer_cuts(low=10, high=0, units=3)


def test_c03_unsigned_keys_end():
    top = 2**64 - 1
    cuts = integer_cuts(low=1, high=top, units=4)
    assert len(cuts) == 3
    assert cuts[-1] < top


def test_c05_skew_follows_rows_with_a_histogram():
    bounds = [*range(1, 1_000_001, 10_000), 1843931943963660289]
    cuts = integer_cuts(low=1, high=bounds[-1], units=10, rows=1_000_001, bounds=bounds)
    values = range(1, 1_000_001, 100)
    sizes = [0] * (len(cuts) + 1)
    for value in values:
        sizes[bisect.bisect_left(cuts, value)] += 1
    assert max(sizes) <= 2 * sorted(sizes)[len(sizes) // 2]


def test_c05_skew_without_a_histogram_cuts_densely_from_both_ends():
    cuts = integer_cuts(low=1, high=1843931943963660289, units=10, rows=1_000_001)
    sizes = [0] * (len(cuts) + 1)
    for value in range(1, 1_000_001, 100):
        sizes[bisect.bisect_left(cuts, value)] += 1
    assert max(sizes) <= 1001 + 1
    assert len(cuts) <= 30


def test_unit_count_follows_rows():
    assert unit_count(2_500_000, None, None) == 3
    assert unit_count(10, 3, None) == 4
    assert unit_count(None, None, None) == 1
    assert unit_count(10**12, 10, None) == MAX_UNITS
    assert unit_count(10, 3, 7) == 7


@given(st.lists(st.text(min_size=1), unique=True, max_size=50), st.integers(1, 60))
def test_value_cuts_keep_the_servers_order(bounds, units):
    cuts = value_cuts(bounds, units)
    assert len(cuts) == max(0, min(units - 1, len(bounds) - 2))
    places = [bounds.index(cut) for cut in cuts]
    assert places == sorted(set(places))


def test_tile_is_open_at_both_ends_and_holds_null_keys():
    units = tile("id", "integer", ["10", "20"], rows=30, nullable=True)
    assert [u.index for u in units] == [0, 1, 2, 3]
    assert [[m.value for m in u.lower] for u in units] == [[], ["10"], ["20"], []]
    assert [[m.value for m in u.upper] for u in units] == [["10"], ["20"], [], []]
    assert [u.kind for u in units] == [UnitKind.RANGE] * 3 + [UnitKind.NULLS]
    assert units[0].rows == 10


def test_tile_without_cuts_is_one_whole_unit():
    assert [u.kind for u in tile("id", "integer", [], nullable=True)] == [UnitKind.WHOLE]
