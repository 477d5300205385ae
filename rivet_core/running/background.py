"""Something that goes on in a thread of its own for as long as a block runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def in_background(name: str, work: Callable[[threading.Event], None], *, patience: float | None = None) -> Iterator[None]:
    """Run `work(over)` in a thread called `name`; `over` is set at the end of the block, and `work` returns soon after.

    `patience` is how many seconds the end waits for that, `None` for as long as it takes.
    """
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(patience)
