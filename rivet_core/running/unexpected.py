"""What an exception that nobody foresaw becomes: a bug, said without the words of whoever raised it."""

from __future__ import annotations

from rivet_core.errors import InternalError, named


def unexpected(export: str, error: BaseException) -> InternalError:
    """Return the error of an export in which something raised what is no `RivetError`."""
    found = InternalError(f"{export}: {named(error)}", hint="this is a bug of Rivet or of a plugin: please report it")
    found.__cause__ = error
    return found
