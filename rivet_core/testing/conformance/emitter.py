"""Checks of a reason emitter: pure, worth no points, and every reason has its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import pytest

from rivet_core.facts import CampaignExport, CampaignFacts, GroupCapacity, Reason, ServerFacts, SourceGroup
from rivet_core.testing.conformance.base import Conformance
from rivet_core.testing.conformance.references import load
from rivet_core.testing.conformance.samples import AS_OF

if TYPE_CHECKING:
    from rivet_core.api import ReasonEmitter


def campaigns() -> tuple[CampaignFacts, ...]:
    """Return an empty campaign, a single export, and a crowd on two groups, one of them full of heavy exports."""
    one = CampaignExport(
        name="orders",
        group="replica",
        source="shop",
        cost=80,
        risk=40,
        value=50,
        priority=600,
        heavy=True,
        isolate_on_source=False,
        parallel_safe=True,
        serial=False,
        connections=2,
        predicted_seconds=600.0,
        p90_seconds=900.0,
    )
    crowd = tuple(
        replace(
            one,
            name=f"export_{number:02}",
            group="replica" if number % 3 else "crm",
            heavy=number % 2 == 0,
            isolate_on_source=number == 4,
            parallel_safe=number != 5,
            serial=number == 5,
            predicted_seconds=10.0 * number,
        )
        for number in range(20)
    )
    groups = {
        "replica": SourceGroup(name="replica", capacity=GroupCapacity(max_connections=4), declared=True, sources=("shop",)),
        "crm": SourceGroup(name="crm", capacity=GroupCapacity(max_connections=1, assumed=True), declared=False),
    }
    servers = {"shop": ServerFacts(engine="sample", replica_lag_seconds=500.0), "crm": ServerFacts(engine="sample")}
    return (
        CampaignFacts(as_of=AS_OF, workers=1, exports=()),
        CampaignFacts(as_of=AS_OF, workers=4, exports=(one,), groups=groups, servers=servers, lower_bound_seconds=600.0),
        CampaignFacts(
            as_of=AS_OF,
            workers=4,
            exports=crowd,
            groups=groups,
            servers=servers,
            lower_bound_seconds=900.0,
            binding=("heavy", "replica"),
        ),
    )


class EmitterConformance(Conformance):
    """Set `name`; override `facts` with campaigns that make it speak, if the samples do not."""

    CHECKS: ClassVar[int] = 4
    HOOK: ClassVar[str] = "rivet_reason_emitters"

    @pytest.fixture
    def facts(self) -> Sequence[CampaignFacts]:
        """The campaigns it is tried on."""
        return campaigns()

    def emit(self, record: ReasonEmitter, campaign: CampaignFacts) -> list[Reason]:
        """Ask it once."""
        return list(load(record.emit)(campaign))

    def test_its_reasons_are_worth_nothing_and_say_something(
        self, record: ReasonEmitter, facts: Sequence[CampaignFacts]
    ) -> None:
        """0 points, a message, a code of its own; and at least one campaign makes it speak."""
        said = [reason for campaign in facts for reason in self.emit(record, campaign)]
        assert said, "no campaign it was tried on makes it speak: override `facts`"
        for reason in said:
            assert type(reason) is Reason
            assert reason.points == 0, f"{reason.code} gives {reason.points} points; only scoring rules may"
            assert reason.message.strip(), f"{reason.code} says nothing"
            assert reason.code in record.codes, f"{reason.code} is not among {record.codes}"

    def test_its_reasons_have_a_place(self, record: ReasonEmitter, facts: Sequence[CampaignFacts]) -> None:
        """Groups and exports that they name are in the campaign."""
        for campaign in facts:
            names = {export.name for export in campaign.exports}
            for reason in self.emit(record, campaign):
                assert set(reason.exports) <= names, f"{reason.code} names {set(reason.exports) - names}"
                assert not reason.group or reason.group in campaign.groups, f"{reason.code} names group {reason.group}"

    def test_it_is_pure_and_order_does_not_matter(self, record: ReasonEmitter, facts: Sequence[CampaignFacts]) -> None:
        """The same campaign gives the same reasons, also with its exports listed backwards."""
        for campaign in facts:
            first = sorted(map(repr, self.emit(record, campaign)))
            assert sorted(map(repr, self.emit(record, campaign))) == first
            backwards = self.emit(record, replace(campaign, exports=campaign.exports[::-1]))
            assert {(r.code, r.group, frozenset(r.exports)) for r in backwards} == {
                (r.code, r.group, frozenset(r.exports)) for r in self.emit(record, campaign)
            }
