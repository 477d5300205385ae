from __future__ import annotations

from decimal import Decimal, getcontext

from rivet_core.planning.curve import GIB, MIB, THRESHOLDS, UNKNOWN_POINTS, UNKNOWN_WORK, curve


def test_the_committed_table_is_the_formula() -> None:
    getcontext().prec = 80
    growth = Decimal(65537).ln()
    for k, threshold in enumerate(THRESHOLDS, start=1):
        exact = Decimal(64 * MIB) * ((growth * k / 100).exp() - 1)
        assert abs(Decimal(threshold) - exact) <= 1
        assert k == 100 or exact <= threshold


def test_known_points() -> None:
    sizes = (0, GIB, 10 * GIB, 100 * GIB, 1024 * GIB, 4096 * GIB, 10**18)
    assert [curve(size) for size in sizes] == [0, 25, 45, 66, 87, 100, 100]


def test_a_threshold_is_reached_exactly() -> None:
    for k, threshold in enumerate(THRESHOLDS, start=1):
        assert (curve(threshold - 1), curve(threshold)) == (k - 1, k)


def test_the_unknown_stands_where_its_points_are() -> None:
    assert curve(UNKNOWN_WORK) == UNKNOWN_POINTS == 55
