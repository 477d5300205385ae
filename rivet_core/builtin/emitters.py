"""Reasons about the campaign (RV701, RV702, RV703, RV902): who shares a group, and what sets the lower bound. No points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rivet_core.api import ReasonEmitter
from rivet_core.facts import Basis, CampaignExport, CampaignFacts, Evidence, Reason
from rivet_core.planning.taxonomy import reason
from rivet_core.planning.wording import span_text

GROUP_KINDS = ("connections", "heavy", "group")


def builtin_emitters() -> tuple[ReasonEmitter, ...]:
    """Return the records of core's emitters."""
    here = "rivet_core.builtin.emitters"
    return (
        ReasonEmitter(
            name="heavy-neighbours",
            summary="heavy exports that share a group",
            codes=("RV701",),
            emit=f"{here}:heavy_neighbours",
        ),
        ReasonEmitter(
            name="bottleneck", summary="what sets the lower bound", codes=("RV702", "RV703"), emit=f"{here}:bottleneck"
        ),
        ReasonEmitter(name="connections", summary="parallel against connections", codes=("RV902",), emit=f"{here}:connections"),
    )


def heavy_neighbours(facts: CampaignFacts) -> Sequence[Reason]:
    """RV701: two or more heavy exports in one group; only the truly heavy are listed."""
    found = []
    for group, members in _by_group(facts).items():
        heavy = sorted(member.name for member in members if member.heavy)
        if len(heavy) < 2:
            continue
        known = facts.groups.get(group)
        slots = 1 if known is None else known.capacity.max_heavy
        assumed = " (assumed)" if known is None or known.capacity.assumed else ""
        at_once = "only one may run at a time" if slots == 1 else f"{slots} may run at a time"
        found.append(
            _placed(
                reason(
                    "RV701",
                    f"{len(heavy)} heavy exports share {group}; {at_once}{assumed}.",
                    evidence=[_fact("heavy_exports", len(heavy)), _fact("max_heavy", slots)],
                    remedy="read some from another replica, or raise max_heavy",
                ),
                group,
                heavy,
            )
        )
    return found


def bottleneck(facts: CampaignFacts) -> Sequence[Reason]:
    """RV702 when a group's capacity sets the lower bound, RV703 when a single export does."""
    if not facts.exports or facts.lower_bound_seconds <= 0:
        return ()
    bound = facts.lower_bound_seconds
    longest = min(facts.exports, key=lambda export: (-export.predicted_seconds, export.name))
    if longest.predicted_seconds >= bound * (1 - 1e-9):
        text = f"Nothing can finish sooner than {longest.name} alone: {span_text(longest.predicted_seconds)}."
        parts = max(2, min(16, facts.workers))
        single = reason(
            "RV703",
            text,
            evidence=[_fact("predicted_seconds", longest.predicted_seconds, "s"), _fact("lower_bound", bound, "s")],
            remedy=f"split {longest.name} into {parts} by key (mode: chunked, parallel: {parts})",
        )
        return (_placed(single, longest.group, [longest.name]),)
    kind, name = facts.binding
    if kind.partition(":")[0] not in GROUP_KINDS:
        return ()
    group = name or kind.partition(":")[2]
    members = sorted(export.name for export in facts.exports if export.group == group)
    if not members:
        return ()
    text = f"{group} alone needs {span_text(bound)}; more workers will not help."
    shared = reason("RV702", text, evidence=[_fact("lower_bound", bound, "s")], remedy="see the what-ifs of the plan")
    return (_placed(shared, group, members),)


def connections(facts: CampaignFacts) -> Sequence[Reason]:
    """RV902: an export's parallel reads times the workers exceed what its group may hold."""
    found = []
    for group, members in _by_group(facts).items():
        known = facts.groups.get(group)
        widest = max(member.connections for member in members)
        at_once = min(facts.workers, len(members))
        if known is None or widest < 2 or widest * at_once <= known.capacity.max_connections:
            continue
        limit = known.capacity.max_connections
        wide = sorted(member.name for member in members if member.connections == widest)
        found.append(
            _placed(
                reason(
                    "RV902",
                    f"parallel {widest} x {at_once} workers exceed the {limit} connections of {group}.",
                    evidence=[_fact("parallel", widest), _fact("workers", at_once), _fact("max_connections", limit)],
                    remedy="lower parallel or workers, or raise max_connections",
                ),
                group,
                wide,
            )
        )
    return found


def _by_group(facts: CampaignFacts) -> dict[str, list[CampaignExport]]:
    groups: dict[str, list[CampaignExport]] = {}
    for export in sorted(facts.exports, key=lambda export: (export.group, export.name)):
        groups.setdefault(export.group, []).append(export)
    return groups


def _placed(found: Reason, group: str, exports: Sequence[str]) -> Reason:
    return replace(found, group=group, exports=tuple(exports))


def _fact(signal: str, value: float, unit: str = "") -> Evidence:
    return Evidence(signal=signal, value=value, unit=unit, source="plan", observed_at=None, quality=100, basis=Basis.DECLARED)
