"""The limit with the least room."""

from __future__ import annotations

import pytest

from rivet_core.sql.limits import tightest


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ([(100, 5), (None, 2)], (100, 5)),
        ([(100, 5), (3, 1), (None, 5)], (3, 1)),
        ([(100, 99), (10, 2)], (100, 99)),
        ([(100, None), (3, 4)], (3, 4)),
        ([(100, None), (None, None)], (100, None)),
        ([(None, None), (None, 3)], (None, None)),
    ],
)
def test_the_least_room_counts(limits, found):
    assert tightest(limits) == found
