from __future__ import annotations

from rivet_core.facts import Tuning
from rivet_core.sql.pages import FEWEST_ROWS, PageTuner


def after(tuner, speed, pages=12):
    for _ in range(pages):
        tuner.took(tuner.rows, tuner.rows / speed)
    return tuner.rows


def test_pages_come_to_take_the_target():
    for speed in (500, 40_000, 2_000_000):
        tuner = PageTuner(Tuning(page_seconds=0.5))
        assert abs(after(tuner, speed) / speed - 0.5) < 0.01


def test_growth_is_at_most_fourfold_and_careful_after_a_conflict():
    tuner = PageTuner(Tuning(page_seconds=0.5))
    first = tuner.rows
    tuner.took(first, 0.001)
    assert tuner.rows == 4 * first
    tuner.conflicted()
    assert tuner.rows == 2 * first
    tuner.took(tuner.rows, 0.001)
    assert tuner.rows <= 2.2 * first


def test_there_is_a_smallest_page():
    tuner = PageTuner(Tuning(page_seconds=0.5))
    for _ in range(40):
        tuner.conflicted()
    assert tuner.rows == FEWEST_ROWS
    tuner.took(0, 1.0)
    assert tuner.rows == FEWEST_ROWS


def test_the_pause_is_a_share_of_the_page_and_never_of_a_long_statement():
    tuner = PageTuner(Tuning(page_seconds=0.5, pause_share=0.1, pause_seconds=0.02))
    assert abs(tuner.pause(0.4) - 0.06) < 1e-9
    assert abs(tuner.pause(400) - 0.12) < 1e-9
    assert PageTuner(Tuning(page_seconds=5.0, pause_share=0.0)).pause(5.0) == 0


def test_an_overrun_is_noticed():
    tuner = PageTuner(Tuning(page_seconds=0.5))
    assert not tuner.overran(0.6)
    assert tuner.overran(0.8)
