"""The rule under the conformance kit: pure, bounded, explained, and what the cases say."""

from __future__ import annotations

from pathlib import Path

from rivet_core.testing import RuleConformance


class TestRule(RuleConformance):
    """Every check of the kit for this kind."""

    name = "audit"
    cases = Path(__file__).with_name("cases.yaml")
