"""Finish times of declared tiers as lines for people."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.render.quantities import seconds
from rivet_core.scheduling.goals import Goal


def goal_lines(goals: Sequence[Goal]) -> list[str]:
    """Return a line per goal; the second one is what another policy would do, and a conflict with the first."""
    if not goals:
        return []
    lines = [f"goal         with {goals[0].policy} {_ends(goals[0])}"]
    lines += [
        f"conflict     with --policy {goal.policy} {_ends(goal)}, all after {seconds(goal.makespan_seconds)} "
        f"instead of {seconds(goals[0].makespan_seconds)}"
        for goal in goals[1:]
    ]
    return lines


def _ends(goal: Goal) -> str:
    return ", ".join(
        f"tier {tier} is done after {seconds(end)}" if not place else f"{tier} after {seconds(end)}"
        for place, (tier, end) in enumerate(goal.ends.items())
    )
