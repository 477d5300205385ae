"""Two plans compared: which export moved in rank, and which reasons moved it. Times and ids are not differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rivet_core.artifact.model import ExportPlan, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonChange:
    """One reason's points before and after; `None` where it did not stand."""

    code: str
    dimension: str | None
    provider: str
    before: int | None
    after: int | None
    message: str

    @property
    def weight(self) -> int:
        """How many points it moved."""
        return abs((self.after or 0) - (self.before or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportChange:
    """One export that differs. `fields` maps what changed to `(before, after)`; `reasons` the largest first."""

    name: str
    fields: Mapping[str, tuple[Any, Any]]
    reasons: tuple[ReasonChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDiff:
    """What differs between two plans."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ExportChange, ...]
    campaign: Mapping[str, tuple[Any, Any]]

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return bool(self.added or self.removed or self.changed or self.campaign)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that `rivet diff --json` prints."""
        return {
            "differs": self.differs,
            "added": list(self.added),
            "removed": list(self.removed),
            "campaign": {name: {"from": old, "to": new} for name, (old, new) in self.campaign.items()},
            "changed": [
                {
                    "name": change.name,
                    "fields": {name: {"from": old, "to": new} for name, (old, new) in change.fields.items()},
                    "reasons": [
                        {
                            "code": reason.code,
                            "dimension": reason.dimension,
                            "provider": reason.provider,
                            "from": reason.before,
                            "to": reason.after,
                            "message": reason.message,
                        }
                        for reason in change.reasons
                    ],
                }
                for change in self.changed
            ],
        }


def diff_plans(old: Plan, new: Plan) -> PlanDiff:
    """Return what differs; exports in the new plan's rank order, unplannable ones last."""
    before = {export.name: export for export in old.exports}
    after = {export.name: export for export in new.exports}
    ranks = _ranks(old), _ranks(new)
    changes = []
    names = sorted(before.keys() & after.keys(), key=lambda name: (ranks[1].get(name, len(after) + 1), name))
    for name in names:
        change = _compare(before[name], after[name], ranks[0].get(name), ranks[1].get(name))
        if change.fields or change.reasons:
            changes.append(change)
    return PlanDiff(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(changes),
        campaign=_different(_campaign(old), _campaign(new)),
    )


def _ranks(plan: Plan) -> dict[str, int]:
    return {name: place for place, name in enumerate(plan.campaign.ordered_exports, start=1)}


def _campaign(plan: Plan) -> dict[str, Any]:
    campaign = plan.campaign
    return {
        "policy": campaign.policy.name,
        "workers": campaign.policy.workers,
        "lower_bound_seconds": campaign.lower_bound.seconds,
        "binding": f"{campaign.lower_bound.binding.kind} {campaign.lower_bound.binding.name}".strip(),
        "predicted_seconds": campaign.predicted.makespan_seconds,
        "warnings": sorted(f"{item.code} {item.group}: {', '.join(item.exports)}" for item in campaign.source_group_warnings),
    }


def _facets(export: ExportPlan, rank: int | None) -> dict[str, Any]:
    return {
        "rank": rank,
        "status": export.status,
        "priority": export.priority_score,
        "priority_class": export.priority_class,
        "cost": export.scores.cost if export.scores else None,
        "risk": export.scores.risk if export.scores else None,
        "value": export.scores.value if export.scores else None,
        "wave": export.wave if export.wave is not None else export.recommended_wave,
        "heavy": export.heavy,
        "source_group": export.source_group,
        "strategy": export.strategy,
        "split_in": export.split_in,
        "cursor_snapshot": [mark.model_dump() for mark in export.cursor_snapshot],
    }


def _compare(old: ExportPlan, new: ExportPlan, rank_before: int | None, rank_after: int | None) -> ExportChange:
    fields = _different(_facets(old, rank_before), _facets(new, rank_after))
    for key in sorted(old.spec.keys() | new.spec.keys()):
        if old.spec.get(key) != new.spec.get(key):
            fields[f"spec.{key}"] = (old.spec.get(key), new.spec.get(key))
    points = _points(old), _points(new)
    messages = {**_messages(old), **_messages(new)}
    reasons = [
        ReasonChange(
            code=key[0],
            dimension=key[1],
            provider=key[2],
            before=points[0].get(key),
            after=points[1].get(key),
            message=messages[key],
        )
        for key in points[0].keys() | points[1].keys()
        if points[0].get(key) != points[1].get(key)
    ]
    reasons.sort(key=lambda reason: (-reason.weight, reason.code, reason.dimension or "", reason.provider))
    return ExportChange(name=new.name, fields=fields, reasons=tuple(reasons))


_Key = tuple[str, str | None, str]


def _points(export: ExportPlan) -> dict[_Key, int]:
    found: dict[_Key, int] = {}
    for reason in export.reasons:
        key = (reason.code, reason.dimension, reason.provider)
        found[key] = found.get(key, 0) + reason.points
    return found


def _messages(export: ExportPlan) -> dict[_Key, str]:
    return {(reason.code, reason.dimension, reason.provider): reason.message for reason in export.reasons}


def _different(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {key: (old[key], new[key]) for key in new if old[key] != new[key]}
