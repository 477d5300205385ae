"""A plan file seen as a campaign."""

from __future__ import annotations

import pytest

from rivet_core.errors import PlanRefused
from rivet_core.scheduling.plan_campaign import campaign_from_plan


def export(name, **more):
    return {
        "name": name,
        "source_group": "crm",
        "status": "planned",
        "predicted_seconds": {"p10": 5.0, "p50": 10.0, "p90": 20.0, "basis": "measured"},
        "spec": {"parallel": 1, "depends_on": [], "value": {}},
        "tier": "normal",
        "heavy": False,
        "parallel_safe": True,
        "recommended_wave": 1,
        "wave": None,
        "units": [{}, {}, {}],
        **more,
    }


def plan(*exports):
    return {
        "as_of": "2026-11-29T12:00:00Z",
        "campaign": {
            "policy": {"name": "bottleneck", "workers": 6},
            "ordered_exports": [found["name"] for found in exports][::-1],
        },
        "source_groups": {"crm": {"max_connections": 4, "max_heavy": 2, "assumed": True}},
        "exports": list(exports),
    }


def test_jobs_and_capacities():
    value = {"deadline": "06:00", "tier": "high"}
    spec = {"parallel": 3, "parallel_safe": False, "depends_on": ["b"], "value": value}
    campaign = campaign_from_plan(plan(export("a", spec=spec, heavy=True, tier="high", parallel_safe=False), export("b")))
    a, b = campaign.jobs
    assert campaign.capacities.workers == 6
    assert (campaign.capacities.groups["crm"].max_heavy, campaign.capacities.groups["crm"].assumed) == (2, True)
    assert (a.predicted_seconds, a.p90_seconds, a.connections, a.heavy, a.serial, a.deadline) == (10, 20, 3, True, True, True)
    assert (a.rank, b.rank, a.depends_on, a.wave) == (1, 0, ("b",), 1)


def test_hand_set_waves_win_over_recommended_ones_for_all():
    campaign = campaign_from_plan(plan(export("a", wave=3), export("b")))
    assert [found.wave for found in campaign.jobs] == [3, None]


def test_unplannable_exports_are_left_out():
    campaign = campaign_from_plan(plan(export("a"), {"name": "x", "status": "unplannable", "error": {}}))
    assert [found.name for found in campaign.jobs] == ["a"]


@pytest.mark.parametrize("value", [{}, {"campaign": None}, {**plan(export("a")), "exports": [{"name": "a"}]}])
def test_what_is_no_plan_is_refused(value):
    with pytest.raises(PlanRefused, match="not a plan file"):
        campaign_from_plan(value)
