"""A time limit around a call into a plugin: whatever it does, sleep included, nothing hangs on it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")

SECONDS = 10.0
"""What a plugin may take, for one load or in all for one plan."""
_AGAIN = 0.5
"""Seconds after which a plugin that caught the first interruption gets the next."""


class Overdue(BaseException):
    """Raised inside of a plugin that takes too long. No `Exception`, so that `except Exception` in there lets it pass."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `Overdue` in the body after so many seconds, by a timer signal, which ends a sleep or a loop of Python.

    Signals reach the main thread only: elsewhere nothing is interrupted, and whoever measures notices afterwards.
    """
    with alarms() as ready:
        if not ready:
            yield
            return
        began = time.monotonic()
        left, again = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), _AGAIN)
        if left and left < seconds:  # a limit around this one ends first
            signal.setitimer(signal.ITIMER_REAL, left, _AGAIN)
        try:
            yield
        finally:
            spent = time.monotonic() - began
            signal.setitimer(signal.ITIMER_REAL, max(left - spent, 1e-3) if left else 0.0, again)
        if spent >= seconds:  # whatever caught the interruption
            raise Overdue


_listening = False


@contextmanager
def alarms() -> Iterator[bool]:
    """Take over the timer signal for the body, for many limits one after the other; yield whether limits work here."""
    global _listening
    if threading.current_thread() is not threading.main_thread():
        yield False
        return
    if _listening:
        yield True
        return
    # Whoever runs us may have an alarm of its own: it rings afterwards.
    theirs, again = signal.setitimer(signal.ITIMER_REAL, 0)
    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, _interrupt)
    _listening = True
    try:
        yield True
    finally:
        _listening = False
        signal.signal(signal.SIGALRM, before)
        if theirs:
            signal.setitimer(signal.ITIMER_REAL, max(theirs - (time.monotonic() - began), 1e-3), again)


def call_within(seconds: float, call: Callable[[], Result]) -> Result:
    """Return what `call` returns. Raises `Overdue` after so many seconds, on any thread.

    What does not come back on a thread that no signal reaches is left behind on one of its own.
    """
    if threading.current_thread() is threading.main_thread():
        with time_limit(seconds):
            return call()
    answer: list[Result] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            answer.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            failure.append(error)

    thread = threading.Thread(target=work, name="rivet-plugin", daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not answer:
        raise Overdue
    return answer[0]


def _interrupt(number: int, frame: object) -> None:
    raise Overdue
