"""Where risk and value start (RV001, RV002).

Every export starts at a neutral risk of 10 and a neutral value of 40; other reasons move it from there. The neutral cost is
not a reason: cost always has a base of its own, by size.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.facts import ExportFacts, Reason
from rivet_core.planning.taxonomy import reason

_NEUTRAL = (
    reason("RV001", "Neutral risk."),
    reason("RV002", "Neutral value."),
)


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the two neutral bases."""
    return _NEUTRAL
