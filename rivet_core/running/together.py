"""Several calls at once, for what only waits on other machines: opening and looking up the sources of a campaign."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

AT_ONCE = 8


def together(calls: Mapping[Key, Callable[[], Result]]) -> dict[Key, Result]:
    """Return what each call returns, in the order of `calls`, at most `AT_ONCE` of them at a time.

    Raises what the first of them raised, when all have ended. The threads are daemons: an interrupt of the main thread is not
    kept waiting for a server that does not answer.
    """
    if len(calls) < 2:
        return {key: call() for key, call in calls.items()}
    waiting = list(calls.items())[::-1]
    results: dict[Key, Result] = {}
    failures: dict[Key, BaseException] = {}

    def work() -> None:
        while waiting:
            try:
                key, call = waiting.pop()
            except IndexError:  # another thread was faster
                return
            try:
                results[key] = call()
            except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
                failures[key] = error

    threads = [threading.Thread(target=work, name="rivet-opening", daemon=True) for _ in range(min(AT_ONCE, len(calls)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key in calls:
        if key in failures:
            raise failures[key]
    return {key: results[key] for key in calls}
