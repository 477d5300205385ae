"""What people read: durations, ranges, sizes."""

from __future__ import annotations

import pytest

from rivet_core.render.columns import align, clip
from rivet_core.render.plan_table import margin
from rivet_core.render.quantities import count, seconds, size, span


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (185, "3 min 5 s"),
        (3600, "1 h"),
        (7800, "2 h 10 min"),
        (90000, "1 d 1 h"),
    ],
)
def test_seconds(value: float, text: str) -> None:
    assert seconds(value) == text


def test_spans_say_the_unit_once_where_they_can() -> None:
    assert span(0.1, 0.8) == "0.1-0.8 s"
    assert span(30, 30.2) == "30 s"
    assert span(30, 90) == "30 s - 1 min 30 s"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (10952166400, "10.2 GiB"), (2**60, "1024.0 PiB")]
)
def test_size(value: int, text: str) -> None:
    assert size(value) == text


def test_count() -> None:
    assert count(1234567) == "1,234,567"


def test_margin_names_the_nearest_boundary() -> None:
    assert margin(68.5) == "1.5 to high"
    assert margin(73.0) == "3.0 over medium"
    assert margin(42.0) == "2.0 over low"
    assert margin(12.0) == "28.0 to medium"


def test_align_counts_cells_not_characters() -> None:
    assert align([("名", "1"), ("ab", "22")], right=frozenset({1})) == ["名   1", "ab  22"]


def test_clip_marks_the_cut() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcdef", 0) == "abcdef"
    assert clip("名名名", 4) == "名…"
