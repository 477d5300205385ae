"""Ctrl-C and SIGTERM: no new starts, running statements cancelled at the source, and a second one ends at once."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from rivet_core.errors import EXIT_INTERRUPTED, EXIT_TERMINATED

CODES = {signal.SIGINT: ("Ctrl-C", EXIT_INTERRUPTED), signal.SIGTERM: ("SIGTERM", EXIT_TERMINATED)}


@contextlib.contextmanager
def listening(stop: Callable[[str, int], None]) -> Iterator[None]:
    """Call `stop(name, exit code)` in a thread of its own when a signal comes. Does nothing outside of the main thread.

    The handler only puts a token into a queue: it may run at any point of the main thread, whatever lock that holds.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    tokens: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    before: dict[int, Any] = {}

    def arrived(number: int, frame: FrameType | None) -> None:
        tokens.put(number)
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler)

    def work() -> None:
        while (number := tokens.get()) is not None:
            stop(*CODES[signal.Signals(number)])

    thread = threading.Thread(target=work, name="rivet-signals", daemon=True)
    thread.start()
    try:
        for wanted in CODES:
            before[wanted] = signal.signal(wanted, arrived)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        tokens.put(None)
        thread.join()
