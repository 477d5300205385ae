"""Which range a source is asked about, and how the answer is shared out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rivet_core.facts import Basis, Evidence, Mark, RelationKind, TableFacts, Unit, UnitKind
from rivet_core.sql.deltas import LARGE_BYTES, MOST_ASKED, DeltaQuestions, with_rows


def mark(value: str) -> tuple[Mark, ...]:
    return (Mark(column="at", type="timestamp", value=value),)


DAYS = tuple(Unit(index=day, kind=UnitKind.WINDOW, lower=mark(f"d{day}"), upper=mark(f"d{day + 1}")) for day in range(3))
PAST = Unit(index=0, kind=UnitKind.CURSOR, columns=("id",), lower=mark("7"))
NULLS = Unit(index=1, kind=UnitKind.NULLS, columns=("id",))


def table(size: int | None, kind: RelationKind = RelationKind.TABLE) -> TableFacts:
    evidence = Evidence(
        signal="table_bytes", value=size, unit="B", source="catalog", observed_at=None, quality=80, basis=Basis.STATISTICS
    )
    return TableFacts(name="t", kind=kind, bytes=() if size is None else (evidence,))


def test_the_days_of_a_window_are_one_range() -> None:
    asked = DeltaQuestions().range_of(table(LARGE_BYTES), DAYS)
    assert asked == replace(DAYS[0], upper=DAYS[2].upper)
    assert DeltaQuestions().range_of(table(LARGE_BYTES), (PAST, NULLS)) == PAST


@pytest.mark.parametrize(
    ("facts", "units"),
    [
        (table(LARGE_BYTES - 1), DAYS),
        (table(None), DAYS),
        (table(1 << 40, RelationKind.VIEW), DAYS),
        (table(1 << 40), (replace(PAST, lower=()),)),
        (table(1 << 40), (Unit(index=0, kind=UnitKind.WHOLE),)),
        (table(1 << 40), ()),
    ],
)
def test_what_is_not_worth_asking(facts: TableFacts, units: tuple[Unit, ...]) -> None:
    questions = DeltaQuestions()
    assert questions.range_of(facts, units) is None
    assert questions.left == MOST_ASKED


def test_a_session_asks_so_often_and_no_more() -> None:
    questions = DeltaQuestions()
    answers = [questions.range_of(table(1 << 40), DAYS) is not None for _ in range(MOST_ASKED + 3)]
    assert answers == [True] * MOST_ASKED + [False] * 3


def test_rows_are_shared_out_and_none_is_lost() -> None:
    assert [unit.rows for unit in with_rows(DAYS, 8)] == [3, 3, 2]
    assert [unit.rows for unit in with_rows((PAST, NULLS), 5)] == [5, None]
    assert with_rows(DAYS, None) == DAYS
    assert with_rows((NULLS,), 5) == (NULLS,)
