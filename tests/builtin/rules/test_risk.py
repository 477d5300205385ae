"""Mutability, history, the source's state, drift and trust."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from planning_facts import GIB, ID, UPDATED, ago, bytes_of, codes, facts, judge, points, reason_of, rows_of, run, table

from rivet_core.facts import Mode, RelationKind, Role, Unit, UnitKind

BY_UPDATED: dict[str, Any] = {"mode": Mode.INCREMENTAL, "cursor_column": "updated_at"}


# --- mutability -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("daily", "expected"), [(50, None), (51, 5), (120, 12), (400, 25)])
def test_updates_per_day_by_counters_of_known_age(daily: int, expected: int | None) -> None:
    here = table(rows=(rows_of(1000),), updates=daily * 10, counters_since=ago(days=10))
    assert points(judge(facts(here))).get("RV401") == expected


def test_two_snapshots_go_before_the_counters_age() -> None:
    here = table(rows=(rows_of(1000),), updates=5000, counters_since=ago(days=10))
    judgement = judge(facts(here, previous=replace(here, updates=4900), previous_at=ago(days=1)))
    assert points(judgement)["RV401"] == 10
    reset = judge(facts(here, previous=replace(here, updates=9000), previous_at=ago(days=1)))
    assert points(reset)["RV401"] == 25


def test_counters_of_unknown_age_give_no_rate() -> None:
    assert "RV401" not in codes(judge(facts(table(updates=10**9))))


@pytest.mark.parametrize(("mode", "listed"), [(Mode.INCREMENTAL, True), (Mode.FULL, False)])
def test_deletes_are_lost_where_the_mode_only_appends(mode: Mode, listed: bool) -> None:
    spec = BY_UPDATED if mode is Mode.INCREMENTAL else {}
    assert ("RV402" in codes(judge(facts(table(deletes=3), spec=spec)))) is listed
    assert "RV402" not in codes(judge(facts(table(deletes=3), spec=spec, server={"role": Role.STANDBY})))


def test_a_cursor_that_updates_move() -> None:
    assert points(judge(facts(table(updates=3), spec=BY_UPDATED)))["RV403"] == 5
    assert "RV403" not in codes(judge(facts(table(updates=3), spec=BY_UPDATED | {"snapshot": "consistent"})))
    created = table(columns=(ID, replace(UPDATED, name="created_at")), updates=3)
    assert "RV403" not in codes(judge(facts(created, spec=BY_UPDATED | {"cursor_column": "created_at"})))


# --- history ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "successes", "expected"),
    [(0, 0, 15), (30, 0, 7), (0, 1, 7), (0, 3, 1), (0, 4, None), (100, 0, 3), (500, 0, None)],
)
def test_a_failure_fades_with_successes_and_with_time(days: float, successes: int, expected: int | None) -> None:
    failed = run(days=days, status="failed", seconds=0.0, error_class="timeout")
    later = tuple(run(days=-(place + 1) / 1000, seconds=None) for place in range(successes))
    assert points(judge(facts(history=(*later, failed)))).get("RV603") == expected


def test_retries_and_their_class() -> None:
    runs = tuple(run(days=day, seconds=10.0, retries=1) for day in (1, 2, 3))
    assert points(judge(facts(history=runs)))["RV601"] == 8
    assert "RV601" not in codes(judge(facts(history=runs[:2])))


def test_run_times_that_vary() -> None:
    runs = tuple(run(days=day, seconds=seconds) for day, seconds in enumerate((10.0, 12.0, 50.0), start=1))
    assert "RV602" in codes(judge(facts(history=runs)))
    short = tuple(run(days=day, seconds=seconds) for day, seconds in enumerate((0.1, 0.2, 2.0), start=1))
    assert "RV602" not in codes(judge(facts(history=short)))


def test_never_finished_costs_its_longest_try() -> None:
    tries = (run(days=1, status="failed", seconds=20_000.0), run(days=2, status="failed", seconds=300.0))
    killed = run(days=3, status="killed", seconds=90_000.0)
    judgement = judge(facts(history=(*tries, killed)))
    base = reason_of(judgement, "RV102").points
    assert base + points(judgement)["RV604"] == judgement.scores.cost == 72
    assert "RV604" not in codes(judge(facts(history=(*tries, run(days=9)))))
    huge = judge(facts(table(bytes=(bytes_of(5000 * GIB),)), history=tries))
    assert (points(huge)["RV604"], huge.scores.cost) == (0, 100)


def test_slower_than_its_size() -> None:
    def at(seconds: float) -> set[str]:
        return codes(judge(facts(history=tuple(run(days=day, seconds=seconds) for day in (1, 2, 3)))))

    explained = 5 + 1024 / 10
    assert "RV605" in at(2 * explained + 1)
    assert "RV605" not in at(2 * explained - 1)


@pytest.mark.parametrize(("failed", "succeeded", "expected"), [(2, 4, 8), (1, 4, None), (2, 2, None)])
def test_success_rate(failed: int, succeeded: int, expected: int | None) -> None:
    runs = [run(days=10 + place, status="failed", error_class="timeout") for place in range(failed)]
    runs += [run(days=1 + place) for place in range(succeeded)]
    assert points(judge(facts(history=tuple(runs)))).get("RV607") == expected


# --- the source -------------------------------------------------------------------------------------------------------


def test_a_primary_is_named_with_its_load() -> None:
    found = reason_of(judge(facts(server={"role": Role.PRIMARY, "active_sessions": 14})), "RV704")
    assert (found.points, found.message) == (10, "Reads go to a primary with 14 active sessions.")
    assert "RV704" not in codes(judge(facts()))


STANDBY = {"role": Role.STANDBY, "hot_standby_feedback": False, "conflict_delay_seconds": 30.0}


@pytest.mark.parametrize(
    ("changes", "units", "listed"),
    [
        ({}, 0, True),
        ({}, 4, False),
        ({"hot_standby_feedback": True}, 0, False),
        ({"hot_standby_feedback": None}, 0, False),
        ({"conflict_delay_seconds": -1.0}, 0, False),
        ({"conflict_delay_seconds": 600.0}, 0, False),
        ({"role": Role.PRIMARY}, 0, False),
    ],
)
def test_reads_that_outlast_the_standbys_delay(changes: dict[str, Any], units: int, listed: bool) -> None:
    parts = tuple(Unit(index=place, kind=UnitKind.CTID) for place in range(units))
    judgement = judge(facts(server=STANDBY | changes, units=parts, spec={"mode": Mode.CHUNKED} if units else {}))
    assert points(judgement).get("RV705") == (15 if listed else None)


@pytest.mark.parametrize(
    ("server", "listed"),
    [
        ({"oldest_transaction_seconds": 1800.0}, True),
        ({"oldest_transaction_seconds": 1799.0}, False),
        ({"purge_backlog": 1_000_000}, True),
        ({"purge_backlog": 999_999}, False),
    ],
)
def test_cleanup_that_is_held_back(server: dict[str, Any], listed: bool) -> None:
    assert ("RV707" in codes(judge(facts(server=server)))) is listed


@pytest.mark.parametrize(("used", "parallel", "listed"), [(97, 4, True), (96, 4, False), (None, 4, False)])
def test_connections_that_are_left(used: int | None, parallel: int, listed: bool) -> None:
    judgement = judge(facts(server={"max_connections": 100, "used_connections": used}, spec={"parallel": parallel}))
    assert ("RV708" in codes(judgement)) is listed


# --- config -----------------------------------------------------------------------------------------------------------


def test_changed_columns_are_listed() -> None:
    judgement = judge(facts(previous_columns=(("id", "integer"), ("note", "text"))))
    assert reason_of(judgement, "RV404").message == (
        "Columns changed since the last run: +updated_at timestamptz, -note, id integer -> bigint."
    )
    same = (("id", "bigint"), ("updated_at", "timestamptz"))
    assert "RV404" not in codes(judge(facts(previous_columns=same)))
    assert "RV404" not in codes(judge(facts(spec={"columns": ("id",)}, previous_columns=same[:1])))


def test_a_required_reconcile_counts_twice() -> None:
    plain, judgement = judge(facts()), judge(facts(spec={"reconcile_required": True}))
    assert judgement.scores.cost == plain.scores.cost + 5
    assert judgement.scores.risk == plain.scores.risk + 5


# --- trust ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "listed"),
    [
        ((rows_of(1000, changes=200),), False),
        ((rows_of(1000, changes=201),), True),
        ((rows_of(1000, changes=None, observed_at=ago(days=7)),), False),
        ((rows_of(1000, changes=None, observed_at=ago(days=8)),), True),
        ((rows_of(1000, changes=0, observed_at=ago(days=900)),), False),
        ((rows_of(1000, changes=None, observed_at=None),), True),
        ((), True),
    ],
)
def test_stale_statistics(rows: Any, listed: bool) -> None:
    assert ("RV802" in codes(judge(facts(table(rows=rows))))) is listed


def test_analyze_is_spelled_for_the_engine_and_says_what_it_wins() -> None:
    never = table(rows=(), bytes=(bytes_of(GIB, quality=60, changes=None, basis="live"),))
    found = reason_of(judge(facts(never)), "RV802")
    assert found.remedy == "ANALYZE shop.orders"
    assert found.caveat == "It would lift the confidence of the cost from 60 to about 80."
    assert reason_of(judge(facts(never, server={"engine": "mysql"})), "RV802").remedy == "ANALYZE TABLE shop.orders"
    standby = judge(facts(never, server={"role": Role.STANDBY}))
    assert reason_of(standby, "RV802").remedy == "ANALYZE shop.orders (on the primary)"


def test_s01_statistics_of_a_standby_are_used_without_its_counters() -> None:
    """S01: relpages and reltuples are replicated; the change counter is not, so only age counts."""
    judgement = judge(facts(table(changes_since_statistics=0), server={"role": Role.STANDBY}))
    assert "RV802" not in codes(judgement)
    assert judgement.work_bytes == GIB
    assert judgement.confidence.cost == 60


def test_views_are_not_analyzed() -> None:
    assert "RV802" not in codes(judge(facts(table(kind=RelationKind.VIEW, rows=()))))


def test_s06_missing_rights_are_named_exactly() -> None:
    """S06: the exact GRANT."""
    here = table(grants=("GRANT SELECT ON mysql.innodb_table_stats TO reader",))
    found = reason_of(judge(facts(here, server={"grants": ("GRANT pg_read_all_stats TO reader",)})), "RV804")
    assert found.message == "2 rights missing; some signals are unknown."
    assert found.remedy == "GRANT SELECT ON mysql.innodb_table_stats TO reader; GRANT pg_read_all_stats TO reader"


@pytest.mark.parametrize(("count", "days", "listed"), [(3, 1, False), (2, 1, True), (3, 40, True), (0, 1, False)])
def test_thin_history(count: int, days: float, listed: bool) -> None:
    history = tuple(run(days=days + place) for place in range(count))
    assert ("RV806" in codes(judge(facts(history=history)))) is listed
