"""Third-party emitters: heard when sound, one RV890 when not, stopped when slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from planning_facts import NOW

from rivet_core.api import ReasonEmitter
from rivet_core.errors import PluginError
from rivet_core.facts import CampaignFacts, Evidence, Reason, ReasonKind
from rivet_core.planning.emit import emit_reasons
from rivet_core.planning.guard import RuleClock
from rivet_core.plugins import PluginInfo, Registry, Status

CAMPAIGN = CampaignFacts(as_of=NOW, workers=1, exports=(), groups={})


def emitted(emit: Callable[[CampaignFacts], Any], clock: RuleClock | None = None) -> Sequence[Reason]:
    record = ReasonEmitter(name="e", summary="", codes=("X-acme-1",), emit=emit)
    plugin = PluginInfo(
        name="acme", dist="rivet-acme", version="1.0", api=1, status=Status.OK, hooks={"rivet_reason_emitters": (record,)}
    )
    return emit_reasons(CAMPAIGN, Registry([plugin]), clock)


def reason(**changes: Any) -> Reason:
    return Reason(**({"code": "X-acme-1", "kind": ReasonKind.INFO, "message": "said"} | changes))


def evidence(value: Any) -> Evidence:
    return Evidence(signal="s", value=value, unit="", source="x", observed_at=None, quality=50)


def leave(facts: CampaignFacts) -> None:
    raise SystemExit(3)


def test_a_sound_emitter_is_heard() -> None:
    (found,) = emitted(lambda facts: [reason(evidence=(evidence(1.5),))])
    assert (found.code, found.provider, found.evidence[0].value) == ("X-acme-1", "acme", 1.5)


@pytest.mark.parametrize(
    "emit",
    [
        lambda facts: [reason(evidence=(evidence(float("nan")),))],
        lambda facts: [reason(evidence=(evidence(float("inf")),))],
        lambda facts: [reason(evidence=(evidence(object()),))],
        lambda facts: [reason(evidence="text")],
        lambda facts: [reason(code="X-acme-2")],
        lambda facts: [reason(exports=("nobody",))],
        lambda facts: [reason(group=7)],
        lambda facts: "words",
        lambda facts: {}[1],
        leave,
    ],
)
def test_a_broken_emitter_is_one_finding(emit: Callable[[CampaignFacts], Any]) -> None:
    (found,) = emitted(emit)
    assert (found.code, found.provider, found.evidence) == ("RV890", "acme", ())


def test_a_slow_emitter_stops_the_plan_by_name() -> None:
    ticks = iter([0.0, 11.0])
    with pytest.raises(PluginError, match="acme took more than 10 s"):
        emitted(lambda facts: [], RuleClock(now=lambda: next(ticks)))
