from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from planning_facts import NOW, ago, codes, facts, judge, points, reason_of, table

from rivet_core.facts import Mode, Role, Tier, ValueSpec
from rivet_core.scheduling.deadlines import next_deadline


def valued(**changes: Any) -> dict[str, Any]:
    return {"value": ValueSpec(**changes)}


@pytest.mark.parametrize(
    ("hours", "expected"), [(0, -20), (0.5, -10), (0.98, 0), (1, 0), (1.5, 10), (2, 20), (3, 40), (300, 40)]
)
def test_age_against_the_target(hours: float, expected: int) -> None:
    judgement = judge(facts(spec=valued(freshness_seconds=3600.0), last_success=ago(hours=hours)))
    assert points(judgement)["RV501"] == expected


def test_a_target_of_nothing_is_always_missed() -> None:
    judgement = judge(facts(spec=valued(freshness_seconds=0.0), last_success=ago(hours=1)))
    assert points(judgement)["RV501"] == 40


def test_an_export_that_never_ran_gets_no_points_of_age() -> None:
    assert "RV501" not in codes(judge(facts(spec=valued(freshness_seconds=3600.0))))


COUNTED = table(inserts=5, updates=6, deletes=0, counters_since=ago(days=90))


@pytest.mark.parametrize(
    ("before", "at", "role", "unchanged"),
    [
        (COUNTED, ago(days=2), Role.PRIMARY, True),
        (replace(COUNTED, inserts=4), ago(days=2), Role.PRIMARY, False),
        (COUNTED, ago(hours=1), Role.PRIMARY, False),
        (replace(COUNTED, counters_since=None), ago(days=2), Role.PRIMARY, False),
        (COUNTED, ago(days=2), Role.STANDBY, False),
        (None, None, Role.PRIMARY, False),
    ],
)
def test_nothing_changed_needs_equal_counters_around_the_last_success(
    before: Any, at: Any, role: Role, unchanged: bool
) -> None:
    judgement = judge(facts(COUNTED, previous=before, previous_at=at, last_success=ago(days=1), server={"role": role}))
    assert points(judgement).get("RV502") == (-20 if unchanged else None)


def test_unknown_counters_never_say_unchanged() -> None:
    here = replace(COUNTED, deletes=None)
    assert "RV502" not in codes(judge(facts(here, previous=here, previous_at=ago(days=2), last_success=ago(days=1))))


@pytest.mark.parametrize(("count", "expected"), [(1, 4), (4, 16), (9, 16)])
def test_consumers(count: int, expected: int) -> None:
    assert points(judge(facts(spec=valued(consumers=tuple("abcdefghi"[:count])))))["RV503"] == expected


@pytest.mark.parametrize(("tier", "expected"), [(Tier.LOW, -20), (Tier.NORMAL, 0), (Tier.HIGH, 30)])
def test_tiers(tier: Tier, expected: int) -> None:
    assert points(judge(facts(spec=valued(tier=tier))))["RV510"] == expected


def test_no_declared_tier_is_no_reason() -> None:
    assert "RV510" not in codes(judge(facts()))


@pytest.mark.parametrize(
    ("deadline", "expected"),
    [
        ("13:00", "2027-01-10T13:00:00+00:00"),
        ("12:00", "2027-01-11T12:00:00+00:00"),
        ("06:00+02:00", "2027-01-11T06:00:00+02:00"),
        ("15:30:10+02:00", "2027-01-10T15:30:10+02:00"),
        ("23:00Z", "2027-01-10T23:00:00+00:00"),
        ("00:30-11:00", "2027-01-11T00:30:00-11:00"),
        ("24:00", None),
        ("12:60", None),
        ("soon", None),
    ],
)
def test_the_next_deadline(deadline: str, expected: str | None) -> None:
    moment = next_deadline(deadline, NOW)
    assert (None if moment is None else moment.isoformat()) == expected


def test_a_deadline_inside_the_window_names_the_latest_start() -> None:
    found = reason_of(judge(facts(spec=valued(deadline="13:00"))), "RV504")
    assert found.points == 20
    assert found.message == "Must land by 2027-01-10 13:00+00:00; latest start 2027-01-10 12:57+00:00."
    assert "RV504" not in codes(judge(facts(spec=valued(deadline="13:00"), window_seconds=3599.0)))


def test_a_deadline_that_cannot_be_met_says_so() -> None:
    unknown = table(bytes=(), rows=())
    assert "should have started already" in reason_of(judge(facts(unknown, spec=valued(deadline="12:01"))), "RV504").message


@pytest.mark.parametrize(("days", "expected"), [(7, 6), (8, None)])
def test_narrow_windows(days: int, expected: int | None) -> None:
    spec = {"mode": Mode.TIME_WINDOW, "time_column": "updated_at", "days_window": days}
    assert points(judge(facts(spec=spec))).get("RV505") == expected


@pytest.mark.parametrize(("lag", "expected"), [(61.0, -10), (60.0, None), (None, None)])
def test_a_replica_that_lags_behind_the_target(lag: float | None, expected: int | None) -> None:
    judgement = judge(facts(spec=valued(freshness_seconds=60.0), server={"replica_lag_seconds": lag}))
    assert points(judgement).get("RV706") == expected
