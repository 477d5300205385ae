"""Priority, classes with their margins, the rank key, and who must be isolated on a shared source (scoring section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from rivet_core.facts import GroupCapacity
from rivet_core.planning.taxonomy import BASE_RISK, BASE_VALUE

NEUTRAL_PRIORITY = 500
NEUTRAL_COST = 50
VALUE_WEIGHT, COST_WEIGHT, RISK_WEIGHT = 6, 3, 3

COST_CLASSES = ((0, "low"), (25, "medium"), (50, "high"), (75, "very_high"))
RISK_CLASSES = ((0, "low"), (25, "medium"), (50, "high"))
PRIORITY_CLASSES = ((0, "low"), (400, "medium"), (700, "high"))
"""Of 1000. The middle is wider than all plugins together (240): they move a class by at most one."""


@dataclass(frozen=True, slots=True)
class Band:
    """A class with the margin to its neighbours: how many points up and down until it changes, `None` at an end."""

    name: str
    up: int | None
    down: int | None

    @property
    def margin(self) -> int:
        """Points to the nearest boundary."""
        return min(value for value in (self.up, self.down) if value is not None)


def band(score: int, classes: tuple[tuple[int, str], ...]) -> Band:
    """Return the class of `score` among `classes` (lower bounds, ascending) with its margins."""
    place = 0
    while place + 1 < len(classes) and score >= classes[place + 1][0]:
        place += 1
    up = classes[place + 1][0] - score if place + 1 < len(classes) else None
    down = score - classes[place][0] + 1 if place > 0 else None
    return Band(classes[place][1], up, down)


def priority(cost: int, risk: int, value: int, value_confidence: int) -> int:
    """Return the priority, 0..1000. Value counts as far as it is supported; towards neutral, cut toward zero."""
    lift = (value - BASE_VALUE) * value_confidence
    counted = lift // 100 if lift >= 0 else -(-lift // 100)
    raw = NEUTRAL_PRIORITY + VALUE_WEIGHT * counted - COST_WEIGHT * (cost - NEUTRAL_COST) - RISK_WEIGHT * (risk - BASE_RISK)
    return min(1000, max(0, raw))


class Ranked(Protocol):
    """What the rank key needs to know about an export."""

    @property
    def name(self) -> str:
        """Name of the export."""
        ...

    @property
    def tier_rank(self) -> int:
        """0 low, 1 normal, 2 high."""
        ...

    @property
    def priority(self) -> int:
        """Priority, 0..1000."""
        ...

    @property
    def last_success(self) -> datetime | None:
        """End of the last successful run, `None` for never."""
        ...

    @property
    def cost(self) -> int:
        """Cost, 0..100."""
        ...

    @property
    def work_bytes(self) -> int:
        """Expected work in bytes."""
        ...


RankedT = TypeVar("RankedT", bound=Ranked)


def rank_key(item: Ranked) -> tuple[int, int, float, int, int, str]:
    """Return the key of scoring section 3: tier, priority, least lately successful (never is first), cost, work, name."""
    last = float("-inf") if item.last_success is None else item.last_success.timestamp()
    return (-item.tier_rank, -item.priority, last, item.cost, -item.work_bytes, item.name)


def rank_exports(items: Iterable[RankedT]) -> list[RankedT]:
    """Return the exports in rank order, the first to look at first. A total order: names are unique."""
    return sorted(items, key=rank_key)


class Member(Protocol):
    """What isolation needs to know about an export."""

    @property
    def name(self) -> str:
        """Name of the export."""
        ...

    @property
    def group(self) -> str:
        """Its source group."""
        ...

    @property
    def heavy(self) -> bool:
        """Whether it takes a heavy slot."""
        ...

    @property
    def connections(self) -> int:
        """Connections it takes from the group."""
        ...


def isolated_on_source(members: Iterable[Member], capacities: Mapping[str, GroupCapacity]) -> frozenset[str]:
    """Return the heavy exports whose group cannot hold them all at once, by heavy slots or by connections.

    A group without a known capacity holds one heavy export at a time.
    """
    heavy: dict[str, list[Member]] = {}
    for member in members:
        if member.heavy:
            heavy.setdefault(member.group, []).append(member)
    isolated: set[str] = set()
    for group, sharing in heavy.items():
        capacity = capacities.get(group)
        slots = 1 if capacity is None else capacity.max_heavy
        if len(sharing) < 2:
            continue
        crowded = (
            capacity is not None
            and sum(min(m.connections, capacity.max_connections) for m in sharing) > capacity.max_connections
        )
        if len(sharing) > slots or crowded:
            isolated.update(member.name for member in sharing)
    return frozenset(isolated)
