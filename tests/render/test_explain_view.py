"""`rivet explain`: what is said twice is said alike."""

from __future__ import annotations

import plans
import pytest

from rivet_core.render.explain_view import explanation


@pytest.mark.parametrize(("value", "text"), [(0.3333333, "33.3 %"), (0.0004, "less than 0.1 %"), (0.0, "0.0 %")])
def test_a_share_of_nulls_reads_as_in_the_message(value: float, text: str) -> None:
    evidence = {
        "signal": "at.null_frac",
        "value": value,
        "unit": "",
        "source": "statistics",
        "observed_at": None,
        "quality": 70,
    }
    export = plans.export("orders", reasons=[plans.reason("RV303", dimension="risk", family="cursor", evidence=(evidence,))])
    assert f"at.null_frac = {text} (statistics" in explanation(plans.plan([export]), export)
