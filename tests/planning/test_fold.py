from __future__ import annotations

from typing import Any

import pytest
from planning_facts import plugin_reason

from rivet_core.facts import Dimension, Reason, ReasonKind
from rivet_core.planning.fold import Scores, fold, recompute, top_reasons
from rivet_core.planning.taxonomy import reason

NEUTRAL = (reason("RV001", "risk"), reason("RV002", "value"))


def sized(points: int) -> Reason:
    return reason("RV102", "bytes", points=points)


def clamps(reasons: tuple[Reason, ...]) -> list[tuple[str, str, str, int]]:
    return [(str(one.dimension), one.family, one.provider, one.points) for one in reasons if one.kind is ReasonKind.CLAMP]


def test_bases_alone_are_the_scores() -> None:
    scores, reasons = fold([sized(45), *NEUTRAL])
    assert scores == Scores(45, 10, 40)
    assert [one.code for one in reasons] == ["RV102", "RV001", "RV002"]


def test_a_family_is_cut_to_its_cap_and_says_so() -> None:
    scores, reasons = fold([sized(0), *NEUTRAL, reason("RV402", "deleted"), reason("RV401", "updated", points=25)])
    assert scores.risk == 10 + 30
    assert clamps(reasons) == [("risk", "mutability", "core", -10)]


def test_a_negative_family_is_cut_from_below() -> None:
    reasons = [sized(0), *NEUTRAL, reason("RV501", "fresh", points=-20), reason("RV502", "same"), reason("RV706", "lag")]
    scores, listed = fold(reasons)
    assert scores.value == 40 - 30
    assert clamps(listed) == [("value", "freshness", "core", 20)]


def test_the_core_is_cut_at_100_before_plugins_count() -> None:
    reasons = [sized(95), reason("RV201", "scan"), plugin_reason("p", -10, provider="p")]
    scores, listed = fold(reasons)
    assert scores.cost == 90
    assert clamps(listed) == [("cost", "core", "core", -10)]


def test_plugins_are_cut_alone_and_together() -> None:
    reasons = [sized(50), *(plugin_reason(name, points, provider=name) for name, points in (("a", 30), ("b", 10), ("c", 9)))]
    scores, listed = fold(reasons)
    assert scores.cost == 70
    assert clamps(listed) == [("cost", "plugin", "a", -20), ("cost", "plugins", "core", -9)]


def test_a_score_never_leaves_0_to_100() -> None:
    scores, listed = fold([sized(3), plugin_reason("p", -10, provider="p")])
    assert scores.cost == 0
    assert clamps(listed) == [("cost", "score", "core", 7)]


def test_folding_again_changes_nothing() -> None:
    once = fold([sized(95), reason("RV201", "scan"), plugin_reason("p", 30, provider="p")])
    assert fold(once[1]) == once


def test_recompute_ignores_the_clamps_it_finds() -> None:
    listed: list[dict[str, Any]] = [
        {"code": "RV102", "kind": "base", "dimension": "cost", "family": "size", "provider": "core", "points": 60},
        {"code": "RV891", "kind": "clamp", "dimension": "cost", "family": "score", "provider": "core", "points": -50},
        {"code": "RV110", "kind": "info", "dimension": None, "family": "size", "provider": "core", "points": 0},
    ]
    assert recompute(listed) == {"cost": 60, "risk": 0, "value": 0}


@pytest.mark.parametrize("count", [1, 3])
def test_the_top_reasons_are_the_weightiest(count: int) -> None:
    _, listed = fold([sized(45), *NEUTRAL, reason("RV201", "scan"), reason("RV110", "small")])
    assert [one.points for one in top_reasons(listed, count)] == [45, 40, 15][:count]


def test_order_is_by_dimension_then_kind_then_code() -> None:
    _, listed = fold(
        [
            reason("RV110", "small"),
            *reversed(NEUTRAL),
            plugin_reason("p", 1, Dimension.COST, provider="p"),
            reason("RV201", "scan"),
            sized(9),
        ]
    )
    assert [one.code for one in listed] == ["RV102", "RV201", "X-p-001", "RV001", "RV002", "RV110"]
