from __future__ import annotations

import pytest

from rivet_core.facts.plural import several


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "file", "0 files"),
        (1, "file", "1 file"),
        (2, "source group", "2 source groups"),
        (1234567, "row", "1,234,567 rows"),
        (1, "retry", "1 retry"),
        (3, "retry", "3 retries"),
    ],
)
def test_a_number_has_its_noun(number: int, noun: str, text: str) -> None:
    assert several(number, noun) == text
