"""Tell Ctrl-C from a plugin that raises `KeyboardInterrupt` by itself: the one ends the command, the other is its own fault."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


class Interrupts:
    """A handler of SIGINT that notes whether one came, and then does what the handler before it does."""

    def __init__(self, before: Callable[[int, FrameType | None], Any]) -> None:
        self.raised = False
        self._before = before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        self.raised = True
        self._before(number, frame)


@contextlib.contextmanager
def noting_interrupts() -> Iterator[None]:
    """Note each SIGINT during the body. Does nothing outside of the main thread and where SIGINT is ignored."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, Interrupts(before))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def is_ctrl_c(error: BaseException) -> bool:
    """Whether an exception is a `KeyboardInterrupt` that a signal can have raised.

    A handler says so by its attribute `raised`; where one that says nothing is set, any may be.
    """
    return isinstance(error, KeyboardInterrupt) and bool(getattr(signal.getsignal(signal.SIGINT), "raised", True))
