"""`policy: auto`: waves set by hand come before promises, promises before speed."""

from __future__ import annotations

import pytest

from rivet_core.scheduling.automatic import automatic_policy
from tests.scheduling.campaigns import POLICIES


@pytest.mark.parametrize(
    ("hand_set", "promised", "name"),
    [(False, False, "bottleneck"), (False, True, "fast-lane"), (True, False, "waves"), (True, True, "waves")],
)
def test_it_is_one_of_the_policies_that_come_with_rivet(hand_set, promised, name):
    assert automatic_policy(hand_set=hand_set, promised=promised) == name
    assert name in POLICIES
