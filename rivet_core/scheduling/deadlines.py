"""When a declared deadline falls, and whether it counts: the one answer for plans, runs and simulations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

DEFAULT_WINDOW = 86400.0
"""Seconds after a plan's time in which deadlines count, where `planning.window` says nothing else."""
WINDOW_KEY = "deadline_window_seconds"
"""What a planned spec says about the window when it is not the default."""

_DEADLINE = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?:Z|([+-])(\d{2}):?(\d{2}))?")


@lru_cache(maxsize=1024)
def next_deadline(deadline: str, as_of: datetime) -> datetime | None:
    """Return the first moment after `as_of` at which a wall time `HH:MM[:SS][+HH:MM]` falls, UTC without an offset."""
    found = _DEADLINE.fullmatch(deadline.strip())
    if found is None:
        return None
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    offset = timedelta(hours=int(found[5] or 0), minutes=int(found[6] or 0)) * (-1 if found[4] == "-" else 1)
    if hour > 23 or minute > 59 or second > 59 or abs(offset) >= timedelta(hours=24):
        return None
    local = as_of.astimezone(timezone(offset))
    moment = local.replace(hour=hour, minute=minute, second=second, microsecond=0)
    return moment if moment > local else moment + timedelta(days=1)


def is_near(deadline: str | None, as_of: datetime, window_seconds: float) -> bool:
    """Return whether the next `deadline` after `as_of` lies inside the window."""
    due = next_deadline(deadline, as_of) if deadline else None
    return due is not None and due - as_of <= timedelta(seconds=window_seconds)


def is_near_in_plan(spec: Mapping[str, Any], as_of: datetime) -> bool:
    """Return what planning found for the `spec` of a planned export; `as_of` is the plan's."""
    deadline = (spec.get("value") or {}).get("deadline")
    return is_near(deadline, as_of, float(spec.get(WINDOW_KEY, DEFAULT_WINDOW)))
