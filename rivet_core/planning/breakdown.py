"""What a priority is made of, from the plan alone: every reason's share, adding up to the priority; and who is ahead and why.

`priority = clamp(500 + 6 (V' - 40) - 3 (C - 50) - 3 (R - 10), 0, 1000)` with `V' = 40 + trunc((V - 40) K / 100)` (scoring
section 3), so a point of value is worth 6 of 1000, a point of cost or risk -3, and what lies beyond the neutral 500 is the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rivet_core.artifact.model import ExportPlan, Plan, PlanReason
from rivet_core.planning.fold import recompute
from rivet_core.planning.ranking import COST_WEIGHT, NEUTRAL_COST, NEUTRAL_PRIORITY, RISK_WEIGHT, VALUE_WEIGHT, priority
from rivet_core.planning.taxonomy import BASE_RISK, BASE_VALUE

NEUTRAL = {"cost": NEUTRAL_COST, "risk": BASE_RISK, "value": BASE_VALUE}
WEIGHTS = {"cost": -COST_WEIGHT, "risk": -RISK_WEIGHT, "value": VALUE_WEIGHT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One cause's share of the priority, of 1000. `codes` are the reasons behind it; `remedies` what would change it."""

    cause: str
    codes: tuple[str, ...]
    points: int
    remedies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """One export that ranks before, and the first part of the rank key in which the two differ."""

    name: str
    because: str


def shares(export: ExportPlan) -> tuple[Share, ...]:
    """Return the causes of an export's priority, the most harmful first; their points sum to `priority - 500`."""
    if export.scores is None or export.confidence is None or export.priority_score is None:
        return ()
    grouped: dict[tuple[str, str], list[PlanReason]] = {}
    for reason in export.reasons:
        if reason.dimension is not None:
            cause = reason.family if reason.kind != "base" or reason.dimension == "cost" else "neutral"
            grouped.setdefault((reason.dimension, cause), []).append(reason)
    found = []
    for (dimension, family), reasons in grouped.items():
        points = sum(reason.points for reason in reasons)
        if any(reason.kind == "base" for reason in reasons):
            points -= NEUTRAL[dimension]
        worth = WEIGHTS[dimension] * points
        if worth:
            codes = tuple(reason.code for reason in reasons if reason.points or reason.kind == "base")
            remedies = tuple(dict.fromkeys(reason.remedy for reason in reasons if reason.remedy and reason.potential))
            found.append(Share(cause=f"{dimension}, {family}", codes=codes, points=worth, remedies=remedies))
    rest = round(export.priority_score * 10) - NEUTRAL_PRIORITY - sum(share.points for share in found)
    if rest:
        weak = export.confidence.value < 100
        cause = "value counts only as far as it is supported" if weak else "the priority is clamped to 0..1000"
        found.append(Share(cause=cause, codes=(), points=rest))
    return tuple(sorted(found, key=lambda share: (share.points, share.cause)))


def ahead_of(plan: Plan, export: ExportPlan, most: int = 5) -> tuple[Ahead, ...]:
    """Return the exports that rank just before this one, the nearest first, with what decides between the two."""
    order = plan.campaign.ordered_exports
    place = order.index(export.name)
    by_name = {item.name: item for item in plan.exports}
    return tuple(
        Ahead(name=name, because=_decides(by_name[name], export)) for name in reversed(order[max(0, place - most) : place])
    )


def _decides(other: ExportPlan, export: ExportPlan) -> str:
    if other.tier != export.tier:
        return f"tier {other.tier} before {export.tier}"
    if other.priority_score != export.priority_score:
        return f"priority {other.priority_score} before {export.priority_score}"
    return "equal priority: less recently successful, then cheaper, then larger, then by name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputed:
    """The scores and priority of one export folded again from its reasons, beside those in the plan."""

    name: str
    stored: dict[str, int]
    folded: dict[str, int]
    stored_priority: int
    folded_priority: int

    @property
    def agrees(self) -> bool:
        """Whether the plan's numbers are those of its reasons."""
        return self.stored == self.folded and self.stored_priority == self.folded_priority


def recompute_exports(exports: Sequence[ExportPlan]) -> tuple[Recomputed, ...]:
    """Fold every planned export again from the reasons in the plan alone (law L6)."""
    found = []
    for export in exports:
        if export.scores is None or export.confidence is None or export.priority_score is None:
            continue
        folded = recompute([reason.model_dump(mode="json") for reason in export.reasons])
        again = priority(folded["cost"], folded["risk"], folded["value"], export.confidence.value)
        found.append(
            Recomputed(
                name=export.name,
                stored=export.scores.model_dump(),
                folded=folded,
                stored_priority=round(export.priority_score * 10),
                folded_priority=again,
            )
        )
    return tuple(found)
