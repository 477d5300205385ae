"""The pauses between pages: a share of the page's time, and the fixed one of `throttle_ms`."""

from __future__ import annotations

from rivet_core.facts import Tuning
from rivet_mysql.reading.pages import Pacer


def test_a_pause_is_a_share_of_the_page_and_what_throttle_ms_adds():
    assert Pacer(Tuning(pause_share=0.25), long=False).pause(2.0) == 0.5
    assert Pacer(Tuning(pause_share=0.25, pause_seconds=0.7), long=False).pause(2.0) == 1.2


def test_a_page_that_would_hold_too_many_bytes_gets_fewer_rows():
    pacer = Pacer(Tuning(batch_bytes=1000), long=True)
    assert pacer.fits(100, 1500) == 100
    assert pacer.fits(100, 1600) == 50
    assert pacer.fits(100, 10_000) == 10
    assert pacer.fits(100, 10**9) == 1
    assert pacer.fits(1, 10**9) == 1
