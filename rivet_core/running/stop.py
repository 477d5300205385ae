"""Stopping: one flag for a campaign, set by a signal or by `fail_fast`, asked between batches and before every start."""

from __future__ import annotations

import threading

from rivet_core.errors import EXIT_FAILED, RivetError


class StoppedError(RivetError):
    """Work was broken off from outside; nothing was committed by it. `exit_code` is 130 or 143 after a signal."""

    kind = "interrupted"

    def __init__(self, message: str, *, exit_code: int = EXIT_FAILED) -> None:
        super().__init__(message, hint="run the same plan with --resume", code="interrupted")
        self.exit_code = exit_code


class Stop:
    """The flag. `code` is the exit code of the signal that set it, 0 when it was no signal."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.code = 0
        self.why = ""

    def request(self, why: str, code: int = 0) -> None:
        """Ask everything to stop; the first reason stays."""
        if not self.event.is_set():
            self.why, self.code = why, code
            self.event.set()

    def check(self) -> None:
        """Raise when a stop was requested."""
        if self.event.is_set():
            raise self.error()

    def error(self) -> StoppedError:
        """Return the error that says so."""
        return StoppedError(f"interrupted: {self.why}", exit_code=self.code or EXIT_FAILED)
