"""Checks of a cursor classifier: pure, cautious where it knows nothing, and what its YAML cases say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from rivet_core.facts import CursorQuality, CursorRef, CursorVerdict, TableFacts
from rivet_core.testing.conformance.base import Conformance
from rivet_core.testing.conformance.cases import Case, load_cases
from rivet_core.testing.conformance.references import load
from rivet_core.testing.conformance.samples import counted, export_facts

if TYPE_CHECKING:
    from rivet_core.api import CursorClassifier

QUESTIONS = (
    CursorRef(columns=("id",)),
    CursorRef(columns=("updated_at",)),
    CursorRef(columns=("updated_at", "id"), mode="pair"),
    CursorRef(columns=("updated_at", "id"), mode="coalesce"),
    CursorRef(columns=("note",), declared=False),
    CursorRef(columns=("doc",)),
    CursorRef(columns=("no_such_column",)),
)


class ClassifierConformance(Conformance):
    """Set `name`, and `cases` to a file of YAML cases; override `tables` to try it on more."""

    CHECKS: ClassVar[int] = 6
    HOOK: ClassVar[str] = "rivet_cursor_classifiers"
    cases: ClassVar[Path | None] = None
    """A YAML file of cases: `facts` are fields of a table, `ref` those of the cursor, `expect` those of the verdict."""

    @pytest.fixture
    def tables(self) -> Sequence[TableFacts]:
        """The tables it is asked about."""
        return tuple(facts.table for facts in export_facts())

    @pytest.fixture
    def given_cases(self) -> Sequence[Case]:
        """The cases of the file."""
        return load_cases(self.cases, TableFacts, counted(1000, 1 << 20)) if self.cases else ()

    def ask(self, record: CursorClassifier, table: TableFacts, ref: CursorRef) -> CursorVerdict | None:
        """Ask it once."""
        verdict: CursorVerdict | None = load(record.classify)(table, ref)
        return verdict

    def test_it_answers_with_verdicts(self, record: CursorClassifier, tables: Sequence[TableFacts]) -> None:
        """A verdict with a reason, or nothing; never an exception."""
        for table in tables:
            for ref in QUESTIONS:
                verdict = self.ask(record, table, ref)
                if verdict is not None:
                    assert type(verdict) is CursorVerdict, f"returned {verdict!r}"
                    assert verdict.columns == ref.columns, f"asked about {ref.columns}, it answered about {verdict.columns}"
                    assert verdict.why.strip(), f"{verdict.quality} without a why"
                    assert type(verdict.evidence_quality) is int
                    assert 0 <= verdict.evidence_quality <= 100

    def test_it_is_pure(self, record: CursorClassifier, tables: Sequence[TableFacts]) -> None:
        """The same question gives the same verdict, whatever was asked before."""
        questions = [(table, ref) for table in tables for ref in QUESTIONS]
        there = [self.ask(record, table, ref) for table, ref in questions]
        back = [self.ask(record, table, ref) for table, ref in reversed(questions)]
        assert there == list(reversed(back))

    def test_it_trusts_no_unknown_column(self, record: CursorClassifier, tables: Sequence[TableFacts]) -> None:
        """A column that is not in the catalog is no cursor."""
        for table in tables:
            verdict = self.ask(record, table, CursorRef(columns=("no_such_column",)))
            assert verdict is None or verdict.quality is CursorQuality.NONE, f"{verdict}"

    def test_it_trusts_no_column_without_order(self, record: CursorClassifier, tables: Sequence[TableFacts]) -> None:
        """Nobody can read past a point in JSON documents."""
        for table in tables:
            verdict = self.ask(record, table, CursorRef(columns=("doc",)))
            assert verdict is None or verdict.quality is CursorQuality.NONE, f"{verdict}"

    def test_its_cases_hold(self, record: CursorClassifier, given_cases: Sequence[Case]) -> None:
        """Every YAML case, all failures at once."""
        failures = []
        for case in given_cases:
            ref = CursorRef(**{**case.ref, "columns": tuple(case.ref.get("columns", ()))})
            verdict = self.ask(record, case.facts, ref)
            for key, wanted in case.expect[0].items():
                got = getattr(verdict, key, None)
                if (list(got) if isinstance(got, tuple) else str(got)) != (wanted if isinstance(wanted, list) else str(wanted)):
                    failures.append(f"{case.name}: {key} should be {wanted}, is {got}")
        assert not failures, "\n".join(failures)
