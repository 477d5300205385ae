"""Units whose bounds go backwards lie side by side and still hold rows twice."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet_core.errors import PlanRefused
from rivet_core.facts import Mark, Unit, UnitKind
from rivet_core.running.gates import check_tiles
from rivet_core.running.rising import goes_up
from rivet_core.sql.marks import timestamp_text

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(timezones=st.just(UTC)).map(
    lambda at: timestamp_text((at - EPOCH) // timedelta(microseconds=1), zoned=True)
)
INTEGERS = st.integers(-(2**64), 2**64)


def task_of(kind, bounds):
    edges = [(), *((Mark(column="id", type=kind, value=str(value)),) for value in bounds), ()]
    units = tuple(
        Unit(index=index, kind=UnitKind.RANGE, columns=("id",), lower=edges[index], upper=edges[index + 1])
        for index in range(len(edges) - 1)
    )
    return SimpleNamespace(name="orders", units=units)


def is_refused(task):
    try:
        check_tiles(task)
    except PlanRefused:
        return True
    return False


@given(st.lists(INTEGERS, min_size=2, max_size=8))
def test_integers_are_refused_exactly_when_they_do_not_rise(bounds):
    rising = all(left < right for left, right in itertools.pairwise(bounds))
    assert is_refused(task_of("bigint(20) unsigned", bounds)) is not rising


@given(st.lists(st.tuples(st.integers(1, 9000), st.integers(0, 86399)), unique=True, min_size=2, max_size=6))
def test_moments_are_refused_exactly_when_they_do_not_rise(moments):
    bounds = [timestamp_text((days * 86400 + second) * 1_000_000, zoned=True) for days, second in moments]
    assert is_refused(task_of("timestamp with time zone", bounds)) is (moments != sorted(moments))


@given(st.lists(st.text(), min_size=2, max_size=6), st.sampled_from(["text", "uuid", "interval", "integer[]", "X_OWN", "tid"]))
def test_what_only_the_server_can_order_passes(bounds, kind):
    assert not is_refused(task_of(kind, bounds))


@given(st.lists(INTEGERS | st.text() | MOMENTS, min_size=2, max_size=4), st.sampled_from(["int", "date", "numeric(10, 2)"]))
def test_no_text_of_a_bound_is_an_accident(bounds, kind):
    is_refused(task_of(kind, bounds))


@pytest.mark.parametrize(
    ("kind", "low", "high", "up"),
    [
        ("numeric(10,2)", "9.50", "10", True),
        ("double precision", "1e3", "2.5", False),
        ("date", "2024-01-31", "2024-02-01", True),
        ("datetime", "2024-01-01T09:00:00", "2024-01-01 10:00:00", None),
        ("datetime(6)", "2024-01-02 00:00:00", "2024-01-01 00:00:00.5", False),
        ("INTEGER", "x", "1", None),
        ("int", "5", "5", False),
        ("text", "5", "5", None),
    ],
)
def test_types(kind, low, high, up):
    assert goes_up((Mark(column="k", type=kind, value=low),), (Mark(column="k", type=kind, value=high),)) is up


def test_keys_of_several_columns_go_by_the_first_that_differs():
    def key(name, number):
        return (Mark(column="a", type="text", value=name), Mark(column="b", type="int", value=number))

    assert goes_up(key("x", "1"), key("x", "2")) is True
    assert goes_up(key("x", "2"), key("x", "1")) is False
    assert goes_up(key("x", "2"), key("y", "1")) is None
