"""The shape of plan.json, from the top down to its exports; what they are made of stands in `shapes`."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue

from rivet_core.artifact.shapes import (
    Binding,
    CampaignReason,
    ConfigRef,
    CostLevel,
    CursorPlan,
    Diagnostics,
    Estimated,
    GroupWarning,
    Level,
    LowerBound,
    PlanError,
    PlanEvidence,
    PlanGroup,
    PlanMark,
    PlanReason,
    PlanSource,
    PlanState,
    PlanUnit,
    PlanWave,
    PluginLock,
    PolicyChoice,
    PredictedSeconds,
    Prediction,
    PredictionBasis,
    Scores,
    Shape,
    Suggestion,
    Suppressed,
    WhatIf,
)

__all__ = [
    "PLAN_VERSION",
    "Binding",
    "CampaignPlan",
    "CampaignReason",
    "ConfigRef",
    "CostLevel",
    "CursorPlan",
    "Diagnostics",
    "Estimated",
    "ExportPlan",
    "GroupWarning",
    "Level",
    "LowerBound",
    "Plan",
    "PlanError",
    "PlanEvidence",
    "PlanGroup",
    "PlanMark",
    "PlanReason",
    "PlanSource",
    "PlanState",
    "PlanUnit",
    "PlanWave",
    "PluginLock",
    "PolicyChoice",
    "PredictedSeconds",
    "Prediction",
    "PredictionBasis",
    "Scores",
    "Shape",
    "Suggestion",
    "Suppressed",
    "WhatIf",
]

PLAN_VERSION = 1


class CampaignPlan(Shape):
    """Everything about the exports together."""

    policy: PolicyChoice
    ordered_exports: tuple[str, ...]
    waves: tuple[PlanWave, ...]
    source_group_warnings: tuple[GroupWarning, ...]
    lower_bound: LowerBound
    predicted: Prediction
    free_waves: int
    what_ifs: tuple[WhatIf, ...]
    concurrency_hints: tuple[str, ...]
    reasons: tuple[CampaignReason, ...]


class ExportPlan(Shape):
    """One export. An unplannable one keeps name, source, group, spec and error; its judgement is null or empty."""

    name: str
    source: str
    source_group: str
    status: Literal["planned", "unplannable"]
    error: PlanError | None = None
    spec: dict[str, JsonValue]
    strategy: str
    priority_score: float | None
    priority_class: Level | None
    cost_class: CostLevel | None
    risk_class: Level | None
    recommended_wave: int | None
    wave: int | None
    tier: Literal["low", "normal", "high"]
    isolate_on_source: bool
    parallel_safe: bool
    heavy: bool
    scores: Scores | None
    confidence: Scores | None
    predicted_seconds: PredictedSeconds | None
    estimated: Estimated | None
    cursor: CursorPlan | None
    reasons: tuple[PlanReason, ...]
    suggestion: Suggestion | None
    diagnostics: Diagnostics
    units: tuple[PlanUnit, ...]
    cursor_snapshot: tuple[PlanMark, ...]
    split_in: int | None = Field(None, ge=2, description="how many entries of the schedule its units are, one when absent")


class Plan(Shape):
    """The sealed file of one campaign."""

    plan_version: Literal[1]
    rivet_version: str
    plan_id: str
    created_at: AwareDatetime
    as_of: AwareDatetime
    expires_at: AwareDatetime
    config: ConfigRef
    plugins: tuple[PluginLock, ...]
    seal: str
    sources: dict[str, PlanSource]
    source_groups: dict[str, PlanGroup]
    state: PlanState
    fail_fast: bool
    campaign: CampaignPlan
    exports: tuple[ExportPlan, ...]

    def export(self, name: str) -> ExportPlan | None:
        """Return the export of this name, or `None`."""
        return next((export for export in self.exports if export.name == name), None)
