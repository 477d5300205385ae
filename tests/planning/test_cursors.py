from __future__ import annotations

from typing import Any

import pytest
from planning_facts import CORE_CLASSIFIERS, ID, UPDATED, classifier, resolve, table

from rivet_core.errors import PluginError
from rivet_core.facts import ColumnFacts, CursorQuality, CursorRef, CursorVerdict, Evidence, IndexFacts, TypeKind
from rivet_core.planning.cursors import best_candidate, classify_cursor, cursor_candidates, tracks_updates
from rivet_core.planning.guard import RuleClock

REF = CursorRef(columns=("updated_at",))


def verdict(quality: CursorQuality, evidence_quality: int, why: str = "said", **changes: Any) -> CursorVerdict:
    return CursorVerdict(quality=quality, columns=("updated_at",), why=why, evidence_quality=evidence_quality, **changes)


def says(plugin: str, answer: Any) -> Any:
    return classifier(plugin, lambda table, ref: answer)


def test_the_best_evidence_wins_in_any_order() -> None:
    knows_more = says("triggers", verdict(CursorQuality.STRONG_MONOTONIC, 95))
    for order in ((*CORE_CLASSIFIERS, knows_more), (knows_more, *CORE_CLASSIFIERS)):
        assert classify_cursor(table(), REF, order, resolve).quality is CursorQuality.STRONG_MONOTONIC


def test_among_equal_evidence_the_most_cautious_wins() -> None:
    bold, careful = (says("a", verdict(CursorQuality.STRONG_MONOTONIC, 60)), says("b", verdict(CursorQuality.NONE, 60)))
    for order in ((bold, careful), (careful, bold)):
        assert classify_cursor(table(), REF, order, resolve).quality is CursorQuality.NONE


@pytest.mark.parametrize("answer", ["strong", verdict(CursorQuality.WEAK_TIME, 101), verdict("strong", 99), 7])  # type: ignore[arg-type]
def test_nonsense_is_skipped_with_a_note(answer: Any) -> None:
    found = classify_cursor(table(), REF, (*CORE_CLASSIFIERS, says("odd", answer)), resolve)
    assert found.quality is CursorQuality.WEAK_TIME
    assert found.why.endswith("(skipped, failed: odd/c)")


def test_a_classifier_that_raises_is_skipped_with_a_note() -> None:
    def broken(table: object, ref: object) -> None:
        raise RuntimeError

    found = classify_cursor(table(), REF, (classifier("bad", broken), *CORE_CLASSIFIERS), resolve)
    assert (found.quality, found.why.endswith("(skipped, failed: bad/c)")) == (CursorQuality.WEAK_TIME, True)
    assert classify_cursor(table(), REF, (classifier("bad", broken),), resolve).quality is CursorQuality.NONE


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), "\ud800"])
def test_a_verdict_with_broken_evidence_is_skipped(value: Any) -> None:
    evidence = Evidence(signal="s", value=value, unit="", source="x", observed_at=None, quality=99)
    answer = verdict(CursorQuality.STRONG_MONOTONIC, 99, evidence=(evidence,))
    assert classify_cursor(table(), REF, (says("odd", answer),), resolve).quality is CursorQuality.NONE


def test_a_slow_classifier_stops_the_plan_by_name() -> None:
    ticks = iter([0.0, 11.0])
    with pytest.raises(PluginError, match="slow took more than 10 s"):
        classify_cursor(table(), REF, (says("slow", None),), resolve, RuleClock(now=lambda: next(ticks)))


def test_nothing_to_say_is_no_verdict() -> None:
    found = classify_cursor(table(), REF, (*CORE_CLASSIFIERS, says("silent", None)), resolve)
    assert "skipped" not in found.why


def test_candidates_come_best_first_and_leave_out_what_cannot_be_one() -> None:
    created = ColumnFacts(name="created_at", source_type="timestamptz", kind=TypeKind.TIMESTAMPTZ, nullable=False)
    flag = ColumnFacts(name="done", source_type="boolean", kind=TypeKind.BOOLEAN)
    note = ColumnFacts(name="note", source_type="text", kind=TypeKind.TEXT)
    here = table(
        columns=(flag, note, created, UPDATED, ID),
        indexes=(*table().indexes, IndexFacts(name="c", columns=("created_at",))),
    )
    found = cursor_candidates(here, CORE_CLASSIFIERS, resolve)
    assert [one.columns for one in found] == [("id",), ("updated_at",), ("created_at",)]
    assert found[0].quality is CursorQuality.STRONG_MONOTONIC


def test_several_times_and_no_key_are_ambiguous() -> None:
    created = ColumnFacts(name="created_at", source_type="timestamptz", kind=TypeKind.TIMESTAMPTZ, nullable=False)
    here = table(columns=(created, UPDATED), indexes=(IndexFacts(name="c", columns=("created_at",)), table().indexes[1]))
    best = best_candidate(cursor_candidates(here, CORE_CLASSIFIERS, resolve))
    assert best is not None
    assert (best.quality, best.columns) == (CursorQuality.WEAK_MULTI_CANDIDATE, ("updated_at", "created_at"))
    assert best_candidate(()) is None


@pytest.mark.parametrize(
    ("name", "default", "expected"),
    [
        ("updated_at", None, True),
        ("LastModified", None, True),
        ("created_at", None, False),
        ("ts", "current_timestamp() on update current_timestamp()", True),
    ],
)
def test_a_column_that_moves_with_updates(name: str, default: str | None, expected: bool) -> None:
    assert tracks_updates(name, default) is expected
