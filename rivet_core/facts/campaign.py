"""The campaign as reason emitters see it: exports with their scores, groups with their capacities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rivet_core.facts.catalog import ServerFacts
from rivet_core.facts.pool import GroupCapacity


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceGroup:
    """A capacity boundary shared by the exports of one host, replica or declared group."""

    name: str
    capacity: GroupCapacity
    declared: bool
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignExport:
    """One judged export. Scores 0..100, `priority` 0..1000, predicted seconds p50 and p90."""

    name: str
    group: str
    source: str
    cost: int
    risk: int
    value: int
    priority: int
    heavy: bool
    isolate_on_source: bool
    parallel_safe: bool
    serial: bool
    connections: int
    predicted_seconds: float
    p90_seconds: float
    wave: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFacts:
    """Everything emitters may look at. `binding` is `(kind, name)` of the resource that sets the lower bound."""

    as_of: datetime
    workers: int
    exports: tuple[CampaignExport, ...]
    groups: Mapping[str, SourceGroup] = field(default_factory=dict)
    servers: Mapping[str, ServerFacts] = field(default_factory=dict)
    lower_bound_seconds: float = 0.0
    binding: tuple[str, str] = ("", "")
