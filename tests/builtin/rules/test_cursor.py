from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from planning_facts import BY_TIME, ID, PRIMARY, UPDATED, codes, facts, judge, points, reason_of, rows_of, table

from rivet_core.builtin.classifiers import classify
from rivet_core.facts import ColumnFacts, CursorRef, IndexFacts, Mode, ReasonKind, TypeKind

BY_ID: dict[str, Any] = {"mode": Mode.INCREMENTAL, "cursor_column": "id"}
BY_UPDATED: dict[str, Any] = {"mode": Mode.INCREMENTAL, "cursor_column": "updated_at"}
KEYLESS = table(indexes=(BY_TIME,))


def test_a_strong_cursor_lowers_the_risk() -> None:
    judgement = judge(facts(spec=BY_ID))
    assert points(judgement)["RV301"] == -5
    assert judgement.scores.risk == 5


def test_ties_weigh_only_where_nothing_breaks_them() -> None:
    assert points(judge(facts(KEYLESS, spec=BY_UPDATED)))["RV302"] == 8
    for broken in ({"lookback_seconds": 60.0}, {"cursor_fallback_column": "id", "incremental_cursor_mode": "pair"}):
        found = reason_of(judge(facts(KEYLESS, spec=BY_UPDATED | broken)), "RV302")
        assert (found.points, found.kind) == (0, ReasonKind.INFO)
    assert points(judge(facts(spec=BY_UPDATED)))["RV302"] == 0


def test_a_full_export_is_told_what_would_break_ties() -> None:
    by_text = table(columns=(replace(ID, kind=TypeKind.TEXT, source_type="text", generated=""), UPDATED))
    keyed, keyless = reason_of(judge(facts(by_text)), "RV302"), reason_of(judge(facts(KEYLESS)), "RV302")
    assert "a pair cursor with the primary key would break ties" in keyed.message
    assert "no key tells them apart" in keyless.message
    assert (keyed.points, keyless.points) == (0, 0)


@pytest.mark.parametrize(
    ("share", "text"), [(1 / 3, "33.3 %"), (0.0599, "6.0 %"), (0.5, "50.0 %"), (0.0004, "less than 0.1 %"), (1.0, "100.0 %")]
)
def test_a_share_of_nulls_is_the_same_everywhere(share: float, text: str) -> None:
    here = table(columns=(ID, replace(UPDATED, nullable=True, null_frac=share)))
    judged = facts(here, spec=BY_UPDATED)
    said = reason_of(judge(judged), "RV303").message
    assert said.startswith(f"updated_at is NULL in {text} of the rows")
    verdict = classify(here, CursorRef(columns=("updated_at",), mode="single_column"))
    if share > 0.05:
        assert verdict.why == f"updated_at is NULL in {text} of the rows."


@pytest.mark.parametrize(("share", "expected"), [(0.03, 12), (1.0, 12), (None, 6), (0.0, None)])
def test_nulls(share: float | None, expected: int | None) -> None:
    here = table(columns=(ID, replace(UPDATED, nullable=True, null_frac=share)))
    assert points(judge(facts(here, spec=BY_UPDATED))).get("RV303") == expected


def test_a_fallback_that_is_never_null_fills_the_gap() -> None:
    here = table(columns=(ID, replace(UPDATED, nullable=True, null_frac=0.5)))
    coalesced = BY_UPDATED | {"cursor_fallback_column": "id"}
    found = points(judge(facts(here, spec=coalesced)))
    assert "RV303" not in found
    assert found["RV309"] == 6
    nullable = table(columns=(replace(ID, nullable=True), replace(UPDATED, nullable=True, null_frac=0.5)))
    assert "RV303" in points(judge(facts(nullable, spec=coalesced)))


@pytest.mark.parametrize(
    ("changes", "coarse"),
    [
        ({"kind": TypeKind.DATE}, True),
        ({"precision": 0}, True),
        ({"precision": 3}, False),
        ({"n_distinct": 300.0}, True),
        ({"n_distinct": -0.5}, False),
    ],
)
def test_coarse_cursors(changes: dict[str, Any], coarse: bool) -> None:
    here = table(columns=(ID, replace(UPDATED, **changes)), rows=(rows_of(5_000_000),))
    assert ("RV305" in codes(judge(facts(here, spec=BY_UPDATED)))) is coarse
    assert "RV305" not in codes(judge(facts(here, spec=BY_UPDATED | {"lookback_seconds": 60.0})))


@pytest.mark.parametrize(
    ("default", "listed"), [(None, True), ("now()", False), ("CURRENT_TIMESTAMP", False), ("'2020-01-01'", True)]
)
def test_times_that_the_application_sets(default: str | None, listed: bool) -> None:
    here = table(columns=(ID, replace(UPDATED, default=default)))
    assert ("RV306" in codes(judge(facts(here, spec=BY_UPDATED)))) is listed


@pytest.mark.parametrize(("oldest", "lookback"), [(None, "lookback: 10m"), (30.0, "lookback: 10m"), (3601.0, "lookback: 61m")])
def test_the_lookback_covers_the_oldest_open_transaction(oldest: float | None, lookback: str) -> None:
    found = judge(facts(spec=BY_UPDATED, server={"oldest_transaction_seconds": oldest}))
    assert reason_of(found, "RV306").remedy == lookback


def test_i10_a_random_uuid_is_warned_about() -> None:
    """I10: allowed only with a clear warning that random ids are not monotonic."""
    uuid = ColumnFacts(name="id", source_type="uuid", kind=TypeKind.UUID, nullable=False)
    judgement = judge(facts(table(columns=(uuid, UPDATED)), spec=BY_ID))
    assert points(judgement)["RV308"] == 4
    assert any("not monotonic" in warning for warning in judgement.diagnostics.warnings)
    ordered = judge(facts(table(columns=(replace(uuid, default="uuidv7()"), UPDATED)), spec=BY_ID))
    assert "RV308" not in codes(ordered)
    assert not any("monotonic" in warning for warning in ordered.diagnostics.warnings)


def test_i05_a_text_cursor_is_warned_about_at_plan_time() -> None:
    """I05: the server's order is the only truth."""
    text = ColumnFacts(name="id", source_type="varchar(20)", kind=TypeKind.TEXT, nullable=False)
    judgement = judge(facts(table(columns=(text, UPDATED)), spec=BY_ID))
    assert any("'9' sorts after '11'" in warning for warning in judgement.diagnostics.warnings)


def test_a_mode_without_a_cursor_lists_its_best_candidate_without_points() -> None:
    uuid = ColumnFacts(name="id", source_type="uuid", kind=TypeKind.UUID, nullable=True)
    judgement = judge(facts(table(columns=(uuid,), indexes=(replace(PRIMARY, unique=False),))))
    found = {one.code: one for one in judgement.reasons if one.family == "cursor"}
    assert set(found) == {"RV302", "RV303", "RV308"}
    assert {(one.points, one.kind, one.dimension) for one in found.values()} == {(0, ReasonKind.INFO, None)}
    assert judgement.scores.risk == 10


def test_no_candidate_makes_every_run_full() -> None:
    note = ColumnFacts(name="note", source_type="text", kind=TypeKind.TEXT)
    judgement = judge(facts(table(columns=(note,), indexes=())))
    assert points(judgement)["RV307"] == 0
    flag = ColumnFacts(name="id", source_type="boolean", kind=TypeKind.BOOLEAN)
    assert points(judge(facts(table(columns=(flag,), indexes=()), spec=BY_ID)))["RV307"] == 15


def test_a_window_is_judged_by_its_time_column() -> None:
    spec = {"mode": Mode.TIME_WINDOW, "time_column": "updated_at", "days_window": 30}
    judgement = judge(facts(table(indexes=(PRIMARY,)), spec=spec))
    assert reason_of(judgement, "RV310").message.startswith("Bounded by time: the last 30 days of updated_at")
    assert points(judgement)["RV304"] == 10
    assert "RV505" not in codes(judgement)


def test_two_times_and_no_key_are_ambiguous() -> None:
    created = replace(UPDATED, name="created_at")
    indexes = (BY_TIME, IndexFacts(name="c", columns=("created_at",)))
    judgement = judge(facts(table(columns=(created, UPDATED), indexes=indexes)))
    assert reason_of(judgement, "RV309").message == "Which of updated_at, created_at marks progress is ambiguous."
