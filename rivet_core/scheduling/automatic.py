"""What `policy: auto` stands for: one rule for the plan, for apply and for simulate."""

from __future__ import annotations

WAVES = "waves"
POOL = "bottleneck"
FAST_LANE = "fast-lane"


def automatic_policy(*, hand_set: bool, promised: bool) -> str:
    """Return the policy's name: `hand_set` when waves are set by hand and count, `promised` when a tier high or a deadline is
    declared.
    """
    return WAVES if hand_set else FAST_LANE if promised else POOL
