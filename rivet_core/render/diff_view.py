"""Two plans side by side, for people: who moved, and which reason moved them."""

from __future__ import annotations

from typing import Any

from rivet_core.artifact.diff import ExportChange, PlanDiff


def diff_text(diff: PlanDiff) -> str:
    """Return the differences as text, one block per export."""
    if not diff.differs:
        return "the plans say the same"
    lines = [f"+ {name} is new" for name in diff.added]
    lines += [f"- {name} is gone" for name in diff.removed]
    lines += [f"campaign {name}: {_value(old)} -> {_value(new)}" for name, (old, new) in diff.campaign.items()]
    for change in diff.changed:
        lines += _export(change)
    return "\n".join(lines)


def _export(change: ExportChange) -> list[str]:
    rank = change.fields.get("rank")
    head = f"rank {_value(rank[0])} -> {_value(rank[1])}" if rank else "same rank"
    priority = change.fields.get("priority")
    if priority:
        head += f", priority {_value(priority[0])} -> {_value(priority[1])}"
    lines = [f"{change.name}: {head}"]
    lines += [
        f"    {name}: {_value(old)} -> {_value(new)}"
        for name, (old, new) in change.fields.items()
        if name not in ("rank", "priority")
    ]
    for reason in change.reasons:
        before, after = ("-" if value is None else f"{value:+d}" for value in (reason.before, reason.after))
        where = reason.dimension or "info"
        provider = "" if reason.provider == "core" else f" [{reason.provider}]"
        lines.append(f"    {reason.code} {where} {before} -> {after}{provider}: {reason.message}")
    return lines


def _value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(_value(item) for item in value) or "nothing"
    if isinstance(value, dict) and set(value) == {"column", "type", "value"}:
        return f"{value['column']} {value['value']}"
    return str(value)
