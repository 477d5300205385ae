"""Scheduling facts: jobs with their demands, capacities, and the moment at which a policy decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_WORKERS = 1000
"""Each is a thread, and mostly a connection: a larger number is a slip of the finger."""

MAX_WAVES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCapacity:
    """What a source group can hold at one time. `assumed` when nobody declared it."""

    max_connections: int
    max_heavy: int = 1
    assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacities:
    """Workers of the campaign and the capacity of each group by name."""

    workers: int
    groups: Mapping[str, GroupCapacity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One export, or one of the shares its units were split into, as the scheduler sees it; decisions use `predicted_seconds`.

    `connections` is what it takes from its group, already cut to the group's cap. `serial` is true only for exports whose
    config says `parallel_safe: false` (the serial token); `parallel_safe` is the wider advice that `longest-first` obeys.
    `position` is the place in the config, `rank` the place in rank order, `wave` its wave or `None`. `last_success` is epoch
    seconds, `None` = never. `deadline` is true when one lies inside the planning window. A share names its export in `share_of`
    and how many there are in `shares`; all of them together take one heavy slot, from the first start to the last end.
    """

    name: str
    group: str
    predicted_seconds: float
    p90_seconds: float | None = None
    connections: int = 1
    heavy: bool = False
    serial: bool = False
    parallel_safe: bool = True
    tier: str = "normal"
    deadline: bool = False
    wave: int | None = None
    rank: int = 0
    position: int = 0
    last_success: float | None = None
    depends_on: tuple[str, ...] = ()
    share_of: str = ""
    shares: int = 1

    @property
    def export(self) -> str:
        """The export that it reads, or reads a share of."""
        return self.share_of or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """The moment a worker asks for work.

    `heads` holds, per signature (equal demands and equal wave), the first waiting job in the policy's order, already filtered
    to those that fit the free capacity now, in the policy's order. `running` are the jobs on the way. `remaining` maps a
    resource name (`workers`, `connections:<group>`, `heavy:<group>`, `serial`) to the predicted work still ahead on it divided
    by its capacity, in seconds, running jobs included. `lowest_wave` is the lowest wave with a job waiting or running.
    """

    heads: tuple[Job, ...]
    running: tuple[Job, ...] = ()
    remaining: Mapping[str, float] = field(default_factory=dict)
    waiting: int = 0
    lowest_wave: int | None = None
    scarce: frozenset[str] = frozenset()
    front: frozenset[str] = frozenset()
    workers: int = 0
