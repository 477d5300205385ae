"""Prediction against reality."""

from __future__ import annotations

import pytest

from rivet_core.scheduling.grading import grade
from rivet_core.scheduling.predict import Prediction


def predicted(seconds):
    return Prediction(p10=seconds / 2, p50=seconds, p90=seconds * 2, basis="measured", level="export")


def test_bias_and_coverage():
    found = grade([(predicted(10), 20), (predicted(10), 5), (predicted(10), 40), (predicted(10), 10)])
    assert found.count == 4
    assert found.bias == pytest.approx(4 ** (1 / 4) - 1)
    assert found.total_bias == pytest.approx(75 / 40 - 1)
    assert (found.p90_coverage, found.p10_coverage, found.within_factor_3) == (0.75, 1.0, 0.75)


def test_runs_that_took_nothing_do_not_count():
    assert grade([(predicted(10), 0.0)]).bias is None
