"""Checks of a scoring rule: pure, bounded, explained, and what its YAML cases say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from rivet_core.facts import ExportFacts, Reason, ReasonKind
from rivet_core.testing.conformance.base import Conformance
from rivet_core.testing.conformance.cases import Case, load_cases
from rivet_core.testing.conformance.references import build_options, load
from rivet_core.testing.conformance.samples import export_facts

if TYPE_CHECKING:
    from rivet_core.api import ScoringRule

MOST_POINTS = 100
MOST_REASONS = 100


class RuleConformance(Conformance):
    """Set `name`, and `cases` to a file of YAML cases; override `facts` to try it on more, `rising` where it is monotone."""

    CHECKS: ClassVar[int] = 9
    HOOK: ClassVar[str] = "rivet_scoring_rules"
    cases: ClassVar[Path | None] = None
    """A YAML file of cases, read when the check runs."""

    @pytest.fixture
    def facts(self) -> Sequence[ExportFacts]:
        """The snapshots it is tried on."""
        return export_facts()

    @pytest.fixture
    def rising(self) -> Sequence[tuple[ExportFacts, ExportFacts]]:
        """Pairs of snapshots, the second one worse: its points must not be lower."""
        return ()

    @pytest.fixture
    def given_cases(self) -> Sequence[Case]:
        """The cases of the file."""
        return load_cases(self.cases, ExportFacts, export_facts()[0]) if self.cases else ()

    def score(self, record: ScoringRule, facts: ExportFacts, options: dict[str, Any] | None = None) -> list[Reason]:
        """Ask the rule once."""
        return list(load(record.score)(facts, build_options(record.options, options or {}, Path())))

    def test_it_never_fails(self, record: ScoringRule, facts: Sequence[ExportFacts]) -> None:
        """Whatever is unknown; a rule that raises counts nothing and is shown as broken."""
        for snapshot in facts:
            found = self.score(record, snapshot)
            assert len(found) <= MOST_REASONS
            assert all(type(reason) is Reason for reason in found), f"not all reasons: {found}"

    def test_it_is_pure(self, record: ScoringRule, facts: Sequence[ExportFacts]) -> None:
        """The same facts give the same reasons, in any order of asking, and stay as they were."""
        before = [repr(snapshot) for snapshot in facts]
        there = [self.score(record, snapshot) for snapshot in facts]
        back = [self.score(record, snapshot) for snapshot in reversed(facts)]
        assert there == list(reversed(back)), "the answer depends on what was asked before"
        assert [repr(snapshot) for snapshot in facts] == before, "the rule changed the facts"

    def test_it_does_not_read_the_clock(self, record: ScoringRule, facts: Sequence[ExportFacts]) -> None:
        """Ages are computed against `as_of`: a plan recomputes to the same numbers later."""
        import time

        now = time.time
        first = [self.score(record, snapshot) for snapshot in facts]
        try:
            time.time = lambda: now() + 400 * 86400.0
            assert [self.score(record, snapshot) for snapshot in facts] == first
        finally:
            time.time = now

    def test_its_points_are_bounded_and_whole(self, record: ScoringRule, facts: Sequence[ExportFacts]) -> None:
        """Whole numbers within 100 either way, with the dimension of the record."""
        for reason in self._all(record, facts):
            assert type(reason.points) is int, f"{reason.code}: {reason.points!r}"
            assert abs(reason.points) <= MOST_POINTS, f"{reason.code}: {reason.points} points"
            if reason.points:
                assert reason.dimension is not None, f"{reason.code} gives points to no dimension"
                assert record.dimension in (None, str(reason.dimension)), f"{reason.code} scores {reason.dimension}"

    def test_it_uses_codes_of_its_own(self, record: ScoringRule, facts: Sequence[ExportFacts]) -> None:
        """Only codes of the record, each once per dimension."""
        for snapshot in facts:
            found = [(reason.code, reason.dimension) for reason in self.score(record, snapshot)]
            assert len(found) == len(set(found)), f"a code came twice: {found}"
            assert {code for code, _ in found} <= set(record.codes), f"{found} are not all among {record.codes}"

    def test_every_point_is_explained(self, record: ScoringRule, facts: Sequence[ExportFacts]) -> None:
        """A message for all, evidence for what counts, and at least one snapshot or case that makes it speak."""
        said = self._all(record, facts)
        assert said, "nothing it was tried on makes the rule speak: add `cases`, or override `facts`"
        for reason in said:
            assert reason.message.strip(), f"{reason.code} says nothing"
            explained = reason.evidence or not reason.points or reason.kind is ReasonKind.BASE  # a base may mean "unknown"
            assert explained, f"{reason.code} gives {reason.points} points without evidence"

    def test_it_rises_where_it_says_so(self, record: ScoringRule, rising: Sequence[tuple[ExportFacts, ExportFacts]]) -> None:
        """The points of the worse of two snapshots are not lower."""
        for better, worse in rising:
            low, high = (sum(reason.points for reason in self.score(record, facts)) for facts in (better, worse))
            assert low <= high, f"{low} points before, {high} after it got worse"

    def test_its_cases_hold(self, record: ScoringRule, given_cases: Sequence[Case]) -> None:
        """Every YAML case, all failures at once."""
        failures = []
        for case in given_cases:
            said = self.score(record, case.facts, case.options)
            found = [_compared(reason, case.expect) for reason in said]
            if sorted(found, key=str) != sorted(map(dict, case.expect), key=str):
                failures.append(f"{case.name}: expected {list(case.expect)}, got {found}")
        assert not failures, "\n".join(failures)

    def _all(self, record: ScoringRule, facts: Sequence[ExportFacts]) -> list[Reason]:
        cases = load_cases(self.cases, ExportFacts, export_facts()[0]) if self.cases else ()
        tried = [*((snapshot, {}) for snapshot in facts), *((case.facts, case.options) for case in cases)]
        return [reason for snapshot, options in tried for reason in self.score(record, snapshot, options)]


def _compared(reason: Reason, expect: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of `reason` that the expected reason of the same code names."""
    wanted = next((entry for entry in expect if entry.get("code") == reason.code), {"code": reason.code})
    values = {key: getattr(reason, key, None) for key in wanted}
    return {key: str(value) if isinstance(value, Enum) else value for key, value in values.items()}
