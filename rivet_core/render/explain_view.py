"""Why an export ranks where it does: every reason with points, evidence, age, confidence and remedy."""

from __future__ import annotations

from datetime import datetime

from rivet_core.artifact.model import ExportPlan, Plan, PlanEvidence, PlanReason
from rivet_core.facts.plural import several
from rivet_core.planning.wording import fraction_text
from rivet_core.render.plan_table import margin
from rivet_core.render.quantities import age, count, seconds, size

DIMENSIONS = ("cost", "risk", "value")


def explanation(plan: Plan, export: ExportPlan) -> str:
    """Return the whole story of one export as text."""
    if export.status == "unplannable" and export.error is not None:
        hint = f"\n  what helps: {export.error.hint}" if export.error.hint else ""
        return f"{export.name} cannot be planned: {export.error.message}{hint}"
    rank = plan.campaign.ordered_exports.index(export.name) + 1
    lines = [_headline(plan, export, rank), *_reading(export)]
    for dimension in DIMENSIONS:
        lines += _dimension(export, dimension, plan.as_of)
    rest = [reason for reason in export.reasons if reason.dimension is None]
    if rest:
        lines += ["", "worth knowing", *(line for reason in rest for line in _reason(reason, plan.as_of, points=False))]
    lines += _campaign_reasons(plan, export)
    return "\n".join(lines)


def _headline(plan: Plan, export: ExportPlan, rank: int) -> str:
    score = export.priority_score or 0.0
    total = len(plan.campaign.ordered_exports)
    return (
        f"{export.name}: rank {rank} of {total}, priority {export.priority_class} {score:.1f} ({margin(score)}), "
        f"cost {export.cost_class}, risk {export.risk_class}, tier {export.tier}"
    )


def _reading(export: ExportPlan) -> list[str]:
    lines = [
        f"  reads     {export.spec.get('table') or 'a query'} from {export.source} ({export.source_group}), {export.strategy}"
    ]
    if export.estimated is not None:
        known = [
            several(export.estimated.rows, "row") if export.estimated.rows is not None else "",
            size(export.estimated.bytes) if export.estimated.bytes is not None else "",
            several(export.estimated.delta_rows, "new row") if export.estimated.delta_rows is not None else "",
        ]
        lines.append(f"  holds     {', '.join(text for text in known if text) or 'unknown'} ({export.estimated.basis})")
        if export.estimated.peak_memory_bytes is not None:
            lines.append(f"  memory    {size(export.estimated.peak_memory_bytes)} at most")
    if export.cursor is not None:
        lines.append(f"  cursor    {export.cursor.quality}: {', '.join(export.cursor.columns) or 'none'}; {export.cursor.why}")
    if export.predicted_seconds is not None:
        predicted = export.predicted_seconds
        low, middle, high = (seconds(value) for value in (predicted.p10, predicted.p50, predicted.p90))
        lines.append(f"  takes     {middle} ({low} to {high}, {predicted.basis})")
    wave = export.wave if export.wave is not None else export.recommended_wave
    notes = [
        f"wave {wave}" if wave is not None else "",
        f"{export.split_in} entries" if export.split_in else "",
        "heavy" if export.heavy else "",
        "isolate on its source" if export.isolate_on_source else "",
        "" if export.parallel_safe else "not parallel safe",
    ]
    lines.append(f"  schedule  {', '.join(note for note in notes if note)}")
    if export.suggestion is not None and export.suggestion.why:
        lines.append(f"  suggests  {export.suggestion.why}")
    lines += [f"  warning   {warning}" for warning in export.diagnostics.warnings]
    return lines


def _dimension(export: ExportPlan, dimension: str, as_of: datetime) -> list[str]:
    if export.scores is None or export.confidence is None:
        return []
    score = getattr(export.scores, dimension)
    confidence = getattr(export.confidence, dimension)
    word = "high" if confidence >= 70 else "fair" if confidence >= 40 else "weak"
    lines = ["", f"{dimension} {score} (confidence {confidence}, {word})"]
    for reason in export.reasons:
        if reason.dimension == dimension:
            lines += _reason(reason, as_of, points=True)
    return lines


def _reason(reason: PlanReason, as_of: datetime, *, points: bool) -> list[str]:
    head = f"{reason.points:+4d}" if points else "    "
    provider = "" if reason.provider == "core" else f" [{reason.provider}]"
    lines = [f"  {head}  {reason.code} {reason.message}{provider}"]
    lines += [f"          {_evidence(evidence, as_of)}" for evidence in reason.evidence]
    if reason.caveat:
        lines.append(f"          but: {reason.caveat}")
    if reason.suppressed is not None:
        until = f" until {reason.suppressed.until}" if reason.suppressed.until else ""
        lines.append(f"          muted{until}: {reason.suppressed.reason}")
    if reason.remedy:
        gain = f" (would win {abs(reason.potential)} points)" if reason.potential else ""
        lines.append(f"          remedy: {reason.remedy}{gain}")
    return lines


def _evidence(evidence: PlanEvidence, as_of: datetime) -> str:
    value = evidence.value
    if evidence.unit == "B" and isinstance(value, int):
        shown = size(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        shown = count(value) + (f" {evidence.unit}" if evidence.unit else "")
    elif evidence.signal.endswith("null_frac") and isinstance(value, float):
        shown = fraction_text(value)
    else:
        shown = f"{value}" + (f" {evidence.unit}" if evidence.unit else "")
    when = "" if evidence.observed_at is None else f", {age(evidence.observed_at, as_of)}"
    return f"{evidence.signal} = {shown} ({evidence.source}{when}, quality {evidence.quality})"


def _campaign_reasons(plan: Plan, export: ExportPlan) -> list[str]:
    lines = [
        f"        {reason.code} {reason.group or 'campaign'}: {reason.message}"
        for reason in plan.campaign.reasons
        if export.name in reason.exports
    ]
    return ["", "in the campaign", *lines] if lines else []
