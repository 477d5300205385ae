"""Uniqueness: found over units, tries and batches, in a bounded number of values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rivet_core.errors import ConfigError, IntegrityError
from rivet_core.facts import ExportSpec
from rivet_core.running.quality import Uniqueness, check_quality

SCHEMA = pa.schema([("id", pa.int64())])


def spec(limit):
    quality = {"unique_columns": ["id"], "unique_max_entries": limit}
    return ExportSpec(name="orders", source="shop", table="orders", quality=quality)


def batch(*values):
    return pa.record_batch([pa.array(values, pa.int64())], SCHEMA)


def test_the_limit_holds_inside_of_a_unit():
    unique = Uniqueness(spec(100), SCHEMA)
    hashes = unique.pending()
    for start in range(0, 1000, 50):
        unique.collect(batch(*range(start, start + 50)), hashes)
        assert len(hashes.seen["id"]) <= 100
    unique.take(hashes)
    assert check_quality(spec(100), 1000, [], unique) == ["id has too many values to be checked for uniqueness"]


def test_many_rows_of_few_values_are_no_memory_and_a_breach():
    unique = Uniqueness(spec(100), SCHEMA)
    hashes = unique.pending()
    for _ in range(20):
        unique.collect(batch(*range(50), None, None), hashes)
    assert len(hashes.seen["id"]) == 50
    unique.take(hashes)
    with pytest.raises(IntegrityError, match="950 values of id repeat"):
        check_quality(spec(100), 1040, [], unique)


@pytest.mark.parametrize(
    ("units", "repeated"),
    [
        ([[range(10)], [range(10, 20)]], 0),
        ([[range(10)], [range(5, 15)]], 5),
        ([[range(10), range(9, 12)]], 1),
        ([[range(60)], [range(59, 110)]], 1),
    ],
)
def test_repeats_are_counted_over_units(units, repeated):
    unique = Uniqueness(spec(100), SCHEMA)
    for batches in units:
        failed, again = unique.pending(), unique.pending()
        for values in batches:
            unique.collect(batch(*values), failed)
        if not unique.given_up:
            for values in batches:
                unique.collect(batch(*values), again)
            unique.take(again)
        else:
            unique.take(failed)
    assert unique.repeated["id"] == repeated


@pytest.mark.parametrize("quality", [{"null_ratio_max": {"nope": 0.5}}, {"unique_columns": ["nope"]}])
def test_a_column_that_is_not_read_is_refused(quality):
    with pytest.raises(ConfigError, match=f"orders: quality.{next(iter(quality))} names 'nope', which is not read"):
        Uniqueness(ExportSpec(name="orders", source="shop", table="orders", quality=quality), SCHEMA)
