from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pytest
from planning_facts import NOW, ago

from rivet_core.facts import GroupCapacity
from rivet_core.planning.ranking import (
    COST_CLASSES,
    PRIORITY_CLASSES,
    RISK_CLASSES,
    band,
    isolated_on_source,
    priority,
    rank_exports,
)


@dataclass(frozen=True)
class Item:
    name: str
    tier_rank: int = 1
    priority: int = 500
    last_success: datetime | None = NOW
    cost: int = 50
    work_bytes: int = 0
    group: str = "g"
    heavy: bool = False
    connections: int = 1


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((50, 10, 40, 100), 500),
        ((0, 10, 40, 100), 650),
        ((100, 100, 40, 100), 80),
        ((0, 0, 100, 100), 1000),
        ((100, 100, 0, 100), 0),
        ((50, 10, 41, 99), 500),  # 0.99 points of value, cut toward zero
        ((50, 10, 39, 99), 500),
        ((50, 10, 60, 50), 560),
        ((50, 10, 20, 50), 440),
    ],
)
def test_priority(scores: tuple[int, int, int, int], expected: int) -> None:
    assert priority(*scores) == expected


def test_without_evidence_of_value_nothing_is_high() -> None:
    assert band(priority(0, 0, 40, 100), PRIORITY_CLASSES).name == "medium"


@pytest.mark.parametrize(
    ("score", "classes", "name", "up", "down"),
    [
        (0, COST_CLASSES, "low", 25, None),
        (24, COST_CLASSES, "low", 1, None),
        (25, COST_CLASSES, "medium", 25, 1),
        (74, COST_CLASSES, "high", 1, 25),
        (75, COST_CLASSES, "very_high", None, 1),
        (50, RISK_CLASSES, "high", None, 1),
        (399, PRIORITY_CLASSES, "low", 1, None),
        (400, PRIORITY_CLASSES, "medium", 300, 1),
        (700, PRIORITY_CLASSES, "high", None, 1),
    ],
)
def test_classes_and_their_margins(
    score: int, classes: tuple[tuple[int, str], ...], name: str, up: int | None, down: int | None
) -> None:
    found = band(score, classes)
    assert (found.name, found.up, found.down) == (name, up, down)
    assert found.margin == min(value for value in (up, down) if value is not None)


def test_the_rank_key_counts_its_parts_in_order() -> None:
    items = [
        Item("low tier", tier_rank=0, priority=1000),
        Item("high tier", tier_rank=2, priority=0),
        Item("urgent", priority=900),
        Item("never ran", last_success=None),
        Item("ran long ago", last_success=ago(days=30)),
        Item("cheap", cost=10),
        Item("more work", work_bytes=9),
        Item("b"),
        Item("a"),
    ]
    assert [item.name for item in rank_exports(reversed(items))] == [
        "high tier", "urgent", "never ran", "ran long ago", "cheap", "more work", "a", "b", "low tier",
    ]  # fmt: skip


def test_only_heavy_exports_that_cannot_be_held_together_are_isolated() -> None:
    items = [Item("a", heavy=True), Item("b", heavy=True), Item("c"), Item("d", heavy=True, group="h")]
    assert isolated_on_source(items, {"g": GroupCapacity(max_connections=4, max_heavy=1)}) == {"a", "b"}
    assert isolated_on_source(items, {"g": GroupCapacity(max_connections=4, max_heavy=2)}) == frozenset()
    assert isolated_on_source(items, {"g": GroupCapacity(max_connections=1, max_heavy=2)}) == {"a", "b"}
    assert isolated_on_source(items, {}) == {"a", "b"}
