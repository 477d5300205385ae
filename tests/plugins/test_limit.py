"""A limit ends what sleeps or loops, nests, and leaves an alarm of whoever runs us alone."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress

import pytest

from rivet_core.plugins.limit import Overdue, alarms, time_limit


def test_a_sleep_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(Overdue), time_limit(0.05):
        time.sleep(5)
    assert time.monotonic() - began < 2


def test_many_limits_share_one_handler() -> None:
    with alarms() as ready:
        assert ready
        for _ in range(3):
            with pytest.raises(Overdue), time_limit(0.02):
                time.sleep(5)
        with time_limit(5):
            pass
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_inner_limit_leaves_the_outer_one_running() -> None:
    def nested() -> None:
        with time_limit(5):
            pass
        time.sleep(5)

    with pytest.raises(Overdue), time_limit(0.2):
        nested()


def test_what_inner_limits_took_counts_for_the_outer_one() -> None:
    def nested() -> None:
        for _ in range(50):
            with suppress(Overdue), time_limit(0.1):
                time.sleep(5)

    began = time.monotonic()
    with pytest.raises(Overdue), time_limit(0.3):
        nested()
    assert time.monotonic() - began < 2


def test_an_alarm_of_the_caller_rings_afterwards() -> None:
    rang: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rang.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with alarms(), time_limit(5):
            time.sleep(0.15)
        assert not rang
        time.sleep(0.05)
        assert rang == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_are_not_interrupted() -> None:
    ready: list[bool] = []

    def look() -> None:
        with alarms() as works, time_limit(0.01):
            time.sleep(0.05)
            ready.append(works)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert ready == [False]
