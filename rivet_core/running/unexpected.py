"""What an exception that nobody foresaw becomes: a bug, said without the words of whoever raised it."""

from __future__ import annotations

import traceback
from pathlib import Path

from rivet_core.errors import InternalError


def unexpected(export: str, error: BaseException) -> InternalError:
    """Return the error of an export in which something raised what is no `RivetError`."""
    found = InternalError(f"{export}: {named(error)}", hint="this is a bug of Rivet or of a plugin: please report it")
    found.__cause__ = error
    return found


def named(error: BaseException) -> str:
    """Return an exception's type and the line it came from; its text may hold a password (a driver's message shows the DSN)."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"
