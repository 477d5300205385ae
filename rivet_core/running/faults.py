"""Fault points: places at which a test makes the process die as if by `kill -9`.

`RIVET_FAULT=<step>[:n]` kills the process when it passes `step` for the n-th time (1 without a number). The steps, in the
order in which an export passes them: `part_open`, `part_written` (I1), `part_published` (I2), `unit_done` (I5),
`manifest_published`, `success_marked`, `before_current` (I7), `after_current`, `before_cursor` (I3), `after_cursor` (I4).
"""

from __future__ import annotations

import os
import signal
import threading

STEPS = (
    "part_open",
    "part_written",
    "part_published",
    "unit_done",
    "manifest_published",
    "success_marked",
    "before_current",
    "after_current",
    "before_cursor",
    "after_cursor",
)

_passed: dict[str, int] = {}
_lock = threading.Lock()


def point(step: str) -> None:
    """Die here when the environment says so; nothing is flushed, closed or cleaned up."""
    wanted = os.environ.get("RIVET_FAULT")
    if not wanted:
        return
    name, _, number = wanted.partition(":")
    if name != step:
        return
    with _lock:
        _passed[step] = _passed.get(step, 0) + 1
        if _passed[step] == int(number or 1):
            os.kill(os.getpid(), signal.SIGKILL)
