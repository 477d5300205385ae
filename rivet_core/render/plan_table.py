"""The plan as a table: rank, wave, class with margin, predicted range and the reasons that weigh most."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.artifact.model import ExportPlan, Plan, PlanReason
from rivet_core.facts.memory import PROCESS_BYTES
from rivet_core.facts.plural import several
from rivet_core.render.columns import align, clip
from rivet_core.render.quantities import moment, seconds, size, span

PRIORITY_BOUNDS = ((40.0, "low", "medium"), (70.0, "medium", "high"))
"""Boundaries of the priority classes (scoring section 3), lower class and upper class."""

HEADER = ("#", "wave", "export", "group", "tier", "priority", "cost", "risk", "moves", "predicted", "reasons that weigh most")


def plan_table(plan: Plan, *, width: int = 120) -> str:
    """Return the whole view of a plan: table, unplannable exports, group warnings, bound, waves and what-ifs."""
    by_name = {export.name: export for export in plan.exports}
    ranked = [by_name[name] for name in plan.campaign.ordered_exports]
    lines = [_headline(plan, len(ranked)), ""]
    if ranked:
        hand_set = any(export.wave is not None for export in ranked)
        rows = [HEADER, *(_row(rank, export, hand_set=hand_set) for rank, export in enumerate(ranked, start=1))]
        lines += [clip(line, width) for line in align(rows, right=frozenset({0, 1}))]
        lines += _legend(ranked)
    lines += _unplannable(plan.exports)
    lines += _warnings(plan)
    lines += _bound(plan)
    return "\n".join(lines)


def top_reasons(reasons: Sequence[PlanReason], most: int = 3) -> list[PlanReason]:
    """Return the reasons with the greatest |points| besides the neutral ones every export has, the strongest first."""
    weighty = [reason for reason in reasons if reason.points and reason.code not in ("RV001", "RV002")]
    return sorted(weighty, key=lambda reason: (-abs(reason.points), reason.code))[:most]


def margin(score: float) -> str:
    """Return how far a priority score is from the nearest class boundary: `1.5 to high`, `3.0 over low`."""
    bound, below, above = min(PRIORITY_BOUNDS, key=lambda item: abs(score - item[0]))
    return f"{bound - score:.1f} to {above}" if score < bound else f"{score - bound:.1f} over {below}"


def _headline(plan: Plan, planned: int) -> str:
    groups = len({export.source_group for export in plan.exports})
    policy = plan.campaign.policy
    return (
        f"{several(planned, 'export')} planned in {several(groups, 'source group')}, "
        f"as of {moment(plan.as_of)}; policy {policy.name}, {several(policy.workers, 'worker')}"
    )


def _row(rank: int, export: ExportPlan, *, hand_set: bool) -> tuple[str, ...]:
    wave = export.wave if export.wave is not None else export.recommended_wave
    mark = "!" if export.wave is not None else "~" if hand_set else ""
    score = export.priority_score or 0.0
    predicted = export.predicted_seconds
    flags = "".join(mark for mark, on in (("H", export.heavy), ("I", export.isolate_on_source)) if on)
    return (
        str(rank),
        "-" if wave is None else f"{wave}{mark}",
        export.name,
        export.source_group,
        export.tier,
        f"{export.priority_class} {score:.1f} ({margin(score)})",
        f"{export.cost_class}{' ' + flags if flags else ''}",
        str(export.risk_class),
        _moves(export),
        "-" if predicted is None else span(predicted.p10, predicted.p90) + ("?" if predicted.basis == "unknown" else ""),
        ", ".join(
            f"{reason.code} {reason.family or reason.dimension} {reason.points:+d}" for reason in top_reasons(export.reasons)
        ),
    )


def _legend(exports: Sequence[ExportPlan]) -> list[str]:
    """Explain the marks that stand in the table, and only those."""
    marks = [
        ("H heavy", any(export.heavy for export in exports)),
        ("I isolate on its source", any(export.isolate_on_source for export in exports)),
        ("! wave set by hand", any(export.wave is not None for export in exports)),
        ("~ suggested, runs after the waves set by hand", 0 < sum(export.wave is None for export in exports) < len(exports)),
        (
            "? never measured",
            any(export.predicted_seconds and export.predicted_seconds.basis == "unknown" for export in exports),
        ),
    ]
    shown = [text for text, on in marks if on]
    return [f"({', '.join(shown)})"] if shown else []


def _moves(export: ExportPlan) -> str:
    estimated = export.estimated
    if estimated is None or (estimated.bytes is None and estimated.rows is None):
        return "unknown"
    if estimated.bytes is not None:
        return size(estimated.bytes)
    return several(estimated.rows or 0, "row")


def _unplannable(exports: Sequence[ExportPlan]) -> list[str]:
    lines = []
    for export in exports:
        if export.status == "unplannable" and export.error is not None:
            hint = f" ({export.error.hint})" if export.error.hint else ""
            lines.append(f"  cannot be planned: {export.name}: {export.error.message}{hint}")
    return ["", *lines] if lines else []


def _warnings(plan: Plan) -> list[str]:
    lines = [
        f"  {warning.code} {warning.group or 'campaign'}: {warning.message}" for warning in plan.campaign.source_group_warnings
    ]
    lines += [f"  {hint}" for hint in plan.campaign.concurrency_hints]
    assumed = [
        f"{name} ({several(group.max_connections, 'connection')}, {group.max_heavy} heavy)"
        for name, group in sorted(plan.source_groups.items())
        if group.assumed
    ]
    if assumed:
        lines.append(f"  assumed capacities: {', '.join(assumed)}; declare them under source_groups")
    return ["", "what must not run together", *lines] if lines else []


def _bound(plan: Plan) -> list[str]:
    campaign = plan.campaign
    basis = campaign.predicted.basis
    hedge = f" at least: {basis.unknown} unmeasured" if basis.unknown else ""
    lines = [
        "",
        f"lower bound  {seconds(campaign.lower_bound.seconds)}{hedge}: {campaign.lower_bound.binding.explanation}",
        f"predicted    {seconds(campaign.predicted.makespan_seconds)} with {campaign.predicted.policy}, "
        f"{several(campaign.predicted.workers, 'worker')} "
        f"({basis.measured} measured, {basis.estimated} estimated, {basis.unknown} unknown)",
    ]
    lines += [
        f"wave {wave.wave:<8}{several(len(wave.exports), 'export')}, {seconds(wave.predicted_seconds)}"
        for wave in campaign.waves
    ]
    lines += _memory(plan)
    lines.append(f"free waves   {campaign.free_waves} (so many barriers cost nothing)")
    helpful = [item for item in campaign.what_ifs if item.lower_bound_seconds < 0.99 * campaign.lower_bound.seconds]
    lines += [f"what if      {item.change}: lower bound {seconds(item.lower_bound_seconds)}" for item in helpful]
    return lines


def _memory(plan: Plan) -> list[str]:
    """Return what the process takes at most: the exports that take most, as many as there are workers, at the same time."""
    workers = plan.campaign.policy.workers
    peaks = sorted(((export.estimated.peak_memory_bytes or 0) if export.estimated else 0) for export in plan.exports)
    if not peaks or not peaks[-1]:
        return []
    return [f"memory       {size(PROCESS_BYTES + sum(peaks[-workers:]))} at most, when the largest run at once"]
