"""Small plans made by hand, for tests of what reads plans."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rivet_core.artifact.canonical import seal
from rivet_core.artifact.model import ExportPlan, Plan, PlanReason

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def reason(code: str, *, points: int = 0, dimension: str | None = "cost", family: str = "pressure", **more: Any) -> PlanReason:
    values = {
        "code": code,
        "kind": "modifier",
        "dimension": dimension,
        "family": family,
        "points": points,
        "provider": "core",
        "rule_version": 1,
        "message": f"{code} says so.",
        "evidence": (),
        "caveat": "",
        "remedy": "",
        "potential": 0,
    }
    return PlanReason.model_validate({**values, **more})


def export(
    name: str, *, priority: float = 50.0, reasons: Sequence[PlanReason] = (), spec: dict[str, Any] | None = None, **more: Any
) -> ExportPlan:
    values = {
        "name": name,
        "source": "shop",
        "source_group": "shop",
        "status": "planned",
        "spec": spec or {},
        "strategy": "full",
        "priority_score": priority,
        "priority_class": "medium",
        "cost_class": "low",
        "risk_class": "low",
        "recommended_wave": 1,
        "wave": None,
        "tier": "normal",
        "isolate_on_source": False,
        "parallel_safe": True,
        "heavy": False,
        "scores": {"cost": 50, "risk": 10, "value": 40},
        "confidence": {"cost": 80, "risk": 100, "value": 100},
        "predicted_seconds": {"p10": 1.0, "p50": 2.0, "p90": 4.0, "basis": "measured"},
        "estimated": {"rows": 10, "bytes": 1000, "delta_rows": None, "basis": "estimated"},
        "cursor": None,
        "reasons": tuple(reasons),
        "suggestion": None,
        "diagnostics": {"verdict": "fine", "warnings": ()},
        "units": (),
        "cursor_snapshot": (),
    }
    return ExportPlan.model_validate({**values, **more})


def plan(exports: Sequence[ExportPlan], *, at: datetime = NOW, plan_id: str = "p") -> Plan:
    """A sealed plan; the exports' order is their rank."""
    names = tuple(item.name for item in exports if item.status == "planned")
    campaign = {
        "policy": {"name": "bottleneck", "workers": 4},
        "ordered_exports": names,
        "waves": ({"wave": 1, "exports": names, "predicted_seconds": 2.0},),
        "source_group_warnings": (),
        "lower_bound": {"seconds": 2.0, "binding": {"kind": "longest", "name": "", "explanation": "the longest"}},
        "predicted": {
            "policy": "bottleneck",
            "workers": 4,
            "makespan_seconds": 2.0,
            "basis": {"measured": len(names), "estimated": 0, "unknown": 0},
        },
        "free_waves": 1,
        "what_ifs": (),
        "concurrency_hints": (),
        "reasons": (),
    }
    values = {
        "plan_version": 1,
        "rivet_version": "0.1.0",
        "plan_id": plan_id,
        "created_at": at,
        "as_of": at,
        "expires_at": at + timedelta(hours=24),
        "config": {"path": "rivet.yaml", "sha256": "0"},
        "plugins": (),
        "seal": "",
        "sources": {},
        "source_groups": {},
        "state": {"url": "sqlite:///state.db"},
        "fail_fast": False,
        "campaign": campaign,
        "exports": tuple(exports),
    }
    return seal(Plan.model_validate(values))
