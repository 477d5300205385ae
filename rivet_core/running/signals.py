"""Ctrl-C, SIGTERM, SIGHUP: no new starts, running statements cancelled at the source; a second Ctrl-C or SIGTERM kills."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from rivet_core.errors import EXIT_INTERRUPTED, EXIT_TERMINATED

CODES = {
    signal.SIGINT: ("Ctrl-C", EXIT_INTERRUPTED),
    signal.SIGTERM: ("SIGTERM", EXIT_TERMINATED),
    signal.SIGHUP: ("SIGHUP", EXIT_TERMINATED),
}

_SECOND: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_IGN,
}
"""What a second one does. The kernel and the shell each send a SIGHUP when a terminal is closed, so that one stays ignored."""


@contextlib.contextmanager
def listening(stop: Callable[[str, int], None]) -> Iterator[None]:
    """Call `stop(name, exit code)` in a thread of its own when a signal comes. Does nothing outside of the main thread.

    SIGHUP stays ignored where it is, as under nohup; else it means that the terminal is gone, and nothing is written there
    any more. The handler only puts a token into a queue: it may run at any point of the main thread, whatever lock that holds.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    tokens: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    before: dict[int, Any] = {}
    terminals = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]

    def arrived(number: int, frame: FrameType | None) -> None:
        tokens.put(number)
        signal.signal(number, _SECOND[signal.Signals(number)])

    arrived.raised = False  # type: ignore[attr-defined]  # it raises nothing: a KeyboardInterrupt is somebody's own

    def work() -> None:
        while (number := tokens.get()) is not None:
            if number == signal.SIGHUP:
                _leave(terminals)
            stop(*CODES[signal.Signals(number)])

    thread = threading.Thread(target=work, name="rivet-signals", daemon=True)
    thread.start()
    try:
        for wanted in CODES:
            if wanted == signal.SIGHUP and signal.getsignal(wanted) == signal.SIG_IGN:
                continue
            before[wanted] = signal.signal(wanted, arrived)
        yield
    finally:
        for number, handler in before.items():
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            signal.signal(number, handler)
        tokens.put(None)
        thread.join()


def _leave(terminals: list[int]) -> None:
    """Send what is still written to a terminal that hung up nowhere: an error there would break off the stopping."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in terminals:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
