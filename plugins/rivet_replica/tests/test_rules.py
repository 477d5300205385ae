"""Each rule under the conformance kit: pure, bounded, explained, monotone, and what the cases say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from rivet_core.facts import ExportFacts, Role
from rivet_core.testing import RuleConformance
from rivet_core.testing.conformance.samples import export_facts

HERE = Path(__file__).parent


def standby(**server: object) -> ExportFacts:
    sample = export_facts()[0]
    return replace(sample, server=replace(sample.server, role=Role.STANDBY, **server))


def steps(field: str, *values: float) -> list[tuple[ExportFacts, ExportFacts]]:
    found = [standby(**{field: value}) for value in values]
    return list(pairwise(found))


class TestLag(RuleConformance):
    name = "replica-lag"
    cases = HERE / "lag.yaml"

    @pytest.fixture
    def rising(self):
        return steps("replica_lag_seconds", 0.0, 59.0, 61.0, 1e6)


class TestConflicts(RuleConformance):
    name = "replica-conflicts"
    cases = HERE / "conflicts.yaml"

    @pytest.fixture
    def rising(self):
        return steps("conflicts", 0, 1, 100)


class TestTransactions(RuleConformance):
    name = "replica-transactions"
    cases = HERE / "transactions.yaml"

    @pytest.fixture
    def rising(self):
        return steps("oldest_transaction_seconds", 0.0, 599.0, 601.0, 1e6)


class TestHeadroom(RuleConformance):
    name = "replica-headroom"
    cases = HERE / "headroom.yaml"

    @pytest.fixture
    def rising(self):
        return steps("used_connections", 0, 80, 95, 100, 120)
