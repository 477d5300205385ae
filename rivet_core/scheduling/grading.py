"""Prediction against reality: bias and coverage, stored with each campaign and shown in `metrics`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rivet_core.scheduling.predict import Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """How good predictions were. `bias` 0.05 = runs took typically 5 % longer than predicted (geometric mean).

    `total_bias` compares the sums, `p90_coverage` is the share of runs within p90 and `p10_coverage` the share above p10;
    `within_factor_3` the share off by less than three times either way. All `None` without runs.
    """

    count: int
    bias: float | None
    total_bias: float | None
    p90_coverage: float | None
    p10_coverage: float | None
    within_factor_3: float | None


def grade(pairs: Iterable[tuple[Prediction, float]]) -> Grade:
    """Return the grade of (prediction, actual seconds) pairs; pairs with nothing on either side do not count."""
    found = [(prediction, actual) for prediction, actual in pairs if actual > 0 and prediction.p50 > 0]
    if not found:
        return Grade(count=0, bias=None, total_bias=None, p90_coverage=None, p10_coverage=None, within_factor_3=None)
    count = len(found)
    logs = [math.log(actual / prediction.p50) for prediction, actual in found]
    predicted = math.fsum(prediction.p50 for prediction, _ in found)
    return Grade(
        count=count,
        bias=math.exp(math.fsum(logs) / count) - 1.0,
        total_bias=math.fsum(actual for _, actual in found) / predicted - 1.0,
        p90_coverage=sum(actual <= prediction.p90 for prediction, actual in found) / count,
        p10_coverage=sum(actual >= prediction.p10 for prediction, actual in found) / count,
        within_factor_3=sum(abs(value) <= math.log(3.0) for value in logs) / count,
    )
