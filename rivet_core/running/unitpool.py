"""Several units of one export at once: the first that fails stops the others, and its error is the one that is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from rivet_core.errors import RivetError
from rivet_core.facts import ExportSpec, Unit


def wide(spec: ExportSpec, connections: int) -> int:
    """Return how many units are read at once; a snapshot that several readers share holds a connection of its own.

    A suspect gets its whole group, so that it is alone there, and still reads no wider than asked.
    """
    held = 1 if spec.snapshot == "consistent" and connections > 1 else 0
    return max(1, min(connections - held, spec.parallel))


def each_unit(units: Iterable[Unit], one: Callable[[Unit], None], *, threads: int, halt: Callable[[], None], name: str) -> None:
    """Call `one` for every unit, with at most `threads` at a time; `halt` breaks off the running ones after a failure.

    Raises what the first failing unit raised, not what the others said about being stopped.
    """
    waiting = deque(units)
    if threads <= 1:
        while waiting:
            one(waiting.popleft())
        return

    def work() -> None:
        try:
            while True:
                try:
                    unit = waiting.popleft()
                except IndexError:
                    return
                one(unit)
        except BaseException:
            waiting.clear()
            halt()
            raise

    with ThreadPoolExecutor(threads, thread_name_prefix=f"rivet-{name}") as pool:
        futures = [pool.submit(work) for _ in range(threads)]
    errors = [error for future in futures if (error := future.exception()) is not None]
    errors.sort(key=lambda error: isinstance(error, RivetError) and error.code == "halted")
    if errors:
        raise errors[0]
