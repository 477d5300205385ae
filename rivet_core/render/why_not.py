"""What holds an export back: the causes counted in points of its priority, adding up, and who is ahead because of them."""

from __future__ import annotations

from rivet_core.artifact.model import ExportPlan, Plan
from rivet_core.planning.breakdown import Share, ahead_of, shares
from rivet_core.render.columns import align


def why_not(plan: Plan, export: ExportPlan) -> str:
    """Return the answer to: why does this export not rank higher?"""
    if export.scores is None or export.priority_score is None:
        return f"{export.name} has no rank: it cannot be planned"
    causes = shares(export)
    held = [share for share in causes if share.points < 0]
    lifted = [share for share in causes if share.points > 0]
    total = round(export.priority_score * 10)
    lines = [f"{export.name}: priority {total} of 1000, starting from a neutral 500", ""]
    lines += _block("what holds it back", held) if held else ["nothing holds it back below neutral"]
    lines += (
        _block("what lifts it", sorted(lifted, key=lambda share: -share.points))
        if lifted
        else ["nothing lifts it above neutral"]
    )
    lines.append(f"500 {sum(share.points for share in held):+d} {sum(share.points for share in lifted):+d} = {total}")
    remedies = list(dict.fromkeys(remedy for share in held for remedy in share.remedies))
    lines += ["", "what would help", *(f"  {remedy}" for remedy in remedies)] if remedies else []
    if export.spec.get("value", {}) and not _declared(export):
        lines += ["", "no tier, freshness target or consumer is declared (value:): nothing is urgent until somebody says so"]
    ahead = ahead_of(plan, export)
    lines += (
        ["", "who ranks just before", *(f"  {item.name}: {item.because}" for item in ahead)]
        if ahead
        else ["", "it ranks first"]
    )
    return "\n".join(lines)


def _declared(export: ExportPlan) -> bool:
    value = export.spec.get("value")
    return isinstance(value, dict) and any(value.get(key) for key in ("tier", "freshness_seconds", "consumers", "deadline"))


def _block(title: str, causes: list[Share]) -> list[str]:
    rows = [(f"  {share.points:+d}", share.cause, ", ".join(share.codes)) for share in causes]
    return [title, *align(rows, right=frozenset({0})), ""]
