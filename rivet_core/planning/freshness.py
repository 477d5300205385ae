"""How fresh an export is against its declared target, and when its deadline falls."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from rivet_core.facts import ExportFacts
from rivet_core.planning.confidence import PRIOR, seconds_between

SUCCESS_QUALITY = 95
_DEADLINE = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?:Z|([+-])(\d{2}):?(\d{2}))?")


def freshness_confidence(facts: ExportFacts) -> int:
    """Return how far the value is supported: 100 without a target, else whether the last success is known."""
    if facts.spec.value.freshness_seconds is None:
        return 100
    return PRIOR if facts.last_success is None else SUCCESS_QUALITY


def age_seconds(facts: ExportFacts) -> int | None:
    """Return the age of the last successful run, `None` when there was none."""
    return None if facts.last_success is None else seconds_between(facts.last_success, facts.as_of)


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
