"""Checks of a plan renderer: text out of any plan, the same text every time, and the plan left alone."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from rivet_core.testing.conformance.base import Conformance
from rivet_core.testing.conformance.references import load

if TYPE_CHECKING:
    from rivet_core.api import PlanRenderer


class RendererConformance(Conformance):
    """Set `name`, and override `plan` with one that `rivet plan -o` wrote."""

    CHECKS: ClassVar[int] = 4
    HOOK: ClassVar[str] = "rivet_renderers"

    @pytest.fixture
    def plan(self) -> Mapping[str, Any]:
        """A plan file, parsed."""
        raise NotImplementedError("override the fixture `plan`")

    def test_it_names_every_export(self, record: PlanRenderer, plan: Mapping[str, Any]) -> None:
        """Nothing that was planned is missing from the text."""
        text = load(record.render)(plan)
        assert isinstance(text, str)
        missing = [export["name"] for export in plan["exports"] if export["name"] not in text]
        assert not missing, f"not in the text: {', '.join(missing)}"

    def test_it_is_pure(self, record: PlanRenderer, plan: Mapping[str, Any]) -> None:
        """The same plan gives the same text, and stays as it was."""
        before = json.dumps(plan, sort_keys=True)
        assert load(record.render)(plan) == load(record.render)(copy.deepcopy(plan))
        assert json.dumps(plan, sort_keys=True) == before, "the renderer changed the plan"

    def test_it_says_what_it_is(self, record: PlanRenderer) -> None:
        """A media type and a summary."""
        assert "/" in record.media_type, record.media_type
        assert record.summary
