from __future__ import annotations

from typing import Any

from planning_facts import NOW

from rivet_core.builtin.emitters import bottleneck, connections, heavy_neighbours
from rivet_core.facts import CampaignExport, CampaignFacts, GroupCapacity, SourceGroup


def export(name: str, **changes: Any) -> CampaignExport:
    fields: dict[str, Any] = {
        "name": name, "group": "g", "source": "s", "cost": 50, "risk": 10, "value": 40, "priority": 500, "heavy": False,
        "isolate_on_source": False, "parallel_safe": True, "serial": False, "connections": 1, "predicted_seconds": 10.0,
        "p90_seconds": 20.0,
    }  # fmt: skip
    return CampaignExport(**(fields | changes))


def campaign(*exports: CampaignExport, max_connections: int = 4, max_heavy: int = 1, **changes: Any) -> CampaignFacts:
    capacity = GroupCapacity(max_connections=max_connections, max_heavy=max_heavy, assumed=changes.pop("assumed", False))
    group = SourceGroup(name="g", capacity=capacity, declared=True)
    return CampaignFacts(as_of=NOW, workers=changes.pop("workers", 4), exports=exports, groups={"g": group}, **changes)


def test_only_the_truly_heavy_of_a_group_are_listed() -> None:
    (found,) = heavy_neighbours(campaign(export("b", heavy=True), export("light"), export("a", heavy=True)))
    assert (found.code, found.group, found.exports, found.points) == ("RV701", "g", ("a", "b"), 0)
    assert found.message == "2 heavy exports share g; only one may run at a time."


def test_one_heavy_export_shares_with_nobody() -> None:
    assert not heavy_neighbours(campaign(export("a", heavy=True), export("b", heavy=True, group="h")))


def test_assumed_slots_are_called_assumed() -> None:
    (found,) = heavy_neighbours(campaign(export("a", heavy=True), export("b", heavy=True), max_heavy=2, assumed=True))
    assert found.message == "2 heavy exports share g; 2 may run at a time (assumed)."


def test_a_group_that_binds_is_named_with_its_time() -> None:
    facts = campaign(export("a"), export("b"), lower_bound_seconds=7800.0, binding=("connections", "g"))
    (found,) = bottleneck(facts)
    assert (found.code, found.group, found.exports) == ("RV702", "g", ("a", "b"))
    assert found.message == "g alone needs 2 h 10 min; more workers will not help."


def test_one_export_that_is_the_bound_is_named() -> None:
    facts = campaign(
        export("long", predicted_seconds=12000.0), export("b"), lower_bound_seconds=12000.0, binding=("workers", "")
    )
    (found,) = bottleneck(facts)
    assert (found.code, found.exports) == ("RV703", ("long",))
    assert found.message == "Nothing can finish sooner than long alone: 3 h 20 min."
    assert "split long into 4" in found.remedy


def test_workers_that_bind_need_no_reason() -> None:
    assert not bottleneck(campaign(export("a"), lower_bound_seconds=60.0, binding=("workers", "workers")))
    assert not bottleneck(campaign())


def test_parallel_that_exceeds_the_groups_connections() -> None:
    facts = campaign(export("wide", connections=4), export("b"), max_connections=6)
    (found,) = connections(facts)
    assert (found.code, found.exports) == ("RV902", ("wide",))
    assert found.message == "parallel 4 x 2 workers exceed the 6 connections of g."
    assert not connections(campaign(export("wide", connections=4), max_connections=4))
    assert not connections(campaign(*(export(f"e{place}") for place in range(9)), max_connections=2))
