from __future__ import annotations

import pytest
from planning_facts import NOW, ago, rows_of

from rivet_core.facts import Basis
from rivet_core.planning.confidence import confidence_of, confidence_word, interval_percent, weakest


def test_known_changes_count_and_age_does_not() -> None:
    static = rows_of(1_000_000, quality=80, changes=0, observed_at=ago(days=900))
    assert confidence_of(static, NOW, rows=1_000_000) == 80
    churned = rows_of(1_000_000, quality=80, changes=100_000)
    assert confidence_of(churned, NOW, rows=1_000_000) == 40


@pytest.mark.parametrize(("days", "expected"), [(0, 60), (7, 40), (21, 20), (700, 20)])
def test_age_alone_halves_every_seven_days_and_reaches_60_at_most(days: int, expected: int) -> None:
    assert confidence_of(rows_of(10, quality=80, changes=None, observed_at=ago(days=days)), NOW, rows=10) == expected


def test_statistics_of_unknown_age_are_worth_the_prior() -> None:
    assert confidence_of(rows_of(10, quality=99, changes=None, observed_at=None), NOW, rows=10) == 20


@pytest.mark.parametrize("rows", [None, 0, -1])
def test_changes_against_no_rows_are_worth_the_prior(rows: int | None) -> None:
    assert confidence_of(rows_of(10, changes=5), NOW, rows=rows) == 20


def test_change_counters_of_a_standby_are_not_trusted() -> None:
    evidence = rows_of(1000, quality=80, changes=0, observed_at=ago(days=7))
    assert confidence_of(evidence, NOW, rows=1000, trust_changes=False) == 40


@pytest.mark.parametrize(
    ("basis", "expected"),
    [(Basis.CATALOG, 80), (Basis.LIVE, 80), (Basis.DECLARED, 80), (Basis.HISTORY, 40), (Basis.ACTIVITY, 20), (Basis.PRIOR, 20)],
)
def test_each_basis_ages_in_its_own_way(basis: Basis, expected: int) -> None:
    assert confidence_of(rows_of(10, quality=80, basis=basis, observed_at=ago(days=30), changes=None), NOW) == expected


def test_activity_halves_in_five_minutes() -> None:
    assert confidence_of(rows_of(10, quality=80, basis=Basis.ACTIVITY, observed_at=ago(minutes=5)), NOW) == 40


def test_a_moment_in_the_future_is_now() -> None:
    assert confidence_of(rows_of(10, quality=90, basis=Basis.HISTORY, observed_at=ago(days=-3)), NOW) == 90


def test_an_empty_required_set_gives_100() -> None:
    assert (weakest(()), weakest((70, 20, 99))) == (100, 20)


def test_the_interval_is_the_formula() -> None:
    for confidence in range(20, 101):
        exact = max(1.25, 4 * 0.55 ** ((confidence - 20) / 20))
        assert abs(interval_percent(confidence) / 100 - exact) <= 0.005
    assert (interval_percent(20), interval_percent(40), interval_percent(100)) == (400, 220, 125)


def test_words() -> None:
    assert [confidence_word(k) for k in (20, 39, 40, 69, 70, 100)] == ["weak", "weak", "fair", "fair", "high", "high"]
