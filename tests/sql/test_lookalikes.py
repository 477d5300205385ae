from __future__ import annotations

from rivet_core.sql.lookalikes import describe, lookalikes


def test_n04_case_and_cyrillic_are_found_with_code_points():
    cyrillic = "\u0430"
    assert lookalikes(["A", "b", "a", cyrillic]) == [("A", "a", cyrillic)]
    assert "U+0430" in describe([cyrillic])
    assert lookalikes(["id", "name"]) == []
