"""How far a number is supported: quality of the signal times freshness, in whole numbers (scoring section 4).

`K = min over required signals of max over the signal's sources of quality x freshness`. A prior source of quality 20 is
always present, so no K is below 20; an empty required set gives 100.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rivet_core.facts import Basis, Evidence

PRIOR = 20
AGE_CAP = 60
"""The most that statistics reach when only their age is known."""
STATISTICS_HALF_LIFE = 7 * 86400
HISTORY_HALF_LIFE = 30 * 86400
ACTIVITY_HALF_LIFE = 300
CHANGE_WEIGHT = 10
"""A tenth of the rows changed halves the trust in statistics."""

# 100 x max(1.25, 4 x 0.55^((K-20)/20)) for K = 20..59; from there on 125. A table, so that no float takes part.
_FACTORS = (
    400, 388, 377, 366, 355, 344, 334, 324, 315, 306, 297, 288, 279, 271, 263, 255, 248, 241, 234, 227,
    220, 214, 207, 201, 195, 189, 184, 178, 173, 168, 163, 158, 154, 149, 145, 141, 136, 132, 128, 125,
)  # fmt: skip
_LEAST_FACTOR = 125


def seconds_between(earlier: datetime, later: datetime) -> int:
    """Return the whole seconds from `earlier` to `later`, 0 when they are reversed."""
    return max(0, int((later - earlier).total_seconds()))


def confidence_of(evidence: Evidence, as_of: datetime, *, rows: int | None = None, trust_changes: bool = True) -> int:
    """Return quality times freshness of one source of a signal, 20..100.

    `rows` is the number of rows the statistics speak about; `trust_changes` is false on a standby, whose change counters
    are its own. Statistics of unknown age and unknown changes are worth the prior: they cannot be worth more than old ones.
    """
    quality = min(100, max(0, evidence.quality))
    basis = evidence.basis
    if basis in (Basis.CATALOG, Basis.LIVE, Basis.DECLARED):
        return max(PRIOR, quality)
    if basis is Basis.PRIOR:
        return PRIOR
    if basis is Basis.STATISTICS and trust_changes and evidence.changes is not None and evidence.changes >= 0:
        if rows is None or rows <= 0:
            return PRIOR
        return max(PRIOR, quality * rows // (rows + CHANGE_WEIGHT * evidence.changes))
    if evidence.observed_at is None:
        return PRIOR
    age = seconds_between(evidence.observed_at, as_of)
    if basis is Basis.HISTORY:
        return max(PRIOR, quality * HISTORY_HALF_LIFE // (HISTORY_HALF_LIFE + age))
    if basis is Basis.ACTIVITY:
        return max(PRIOR, quality * ACTIVITY_HALF_LIFE // (ACTIVITY_HALF_LIFE + age))
    return max(PRIOR, min(AGE_CAP, quality * STATISTICS_HALF_LIFE // (STATISTICS_HALF_LIFE + age)))


def weakest(required: Iterable[int]) -> int:
    """Return the confidence of a number that needs every one of `required`; 100 when it needs nothing."""
    return min(required, default=100)


def interval_percent(confidence: int) -> int:
    """Return, in percent, the factor between the estimate and its pessimistic side: 400 at K 20, 220 at 40, at least 125."""
    place = max(PRIOR, confidence) - PRIOR
    return _FACTORS[place] if place < len(_FACTORS) else _LEAST_FACTOR


def confidence_word(confidence: int) -> str:
    """Return how a confidence is shown: `high` from 70, `fair` from 40, else `weak`."""
    return "high" if confidence >= 70 else "fair" if confidence >= 40 else "weak"
