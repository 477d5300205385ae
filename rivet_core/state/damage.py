"""A state database that is damaged: how it shows, and what helps. The datasets know what is needed to make it anew."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError

from rivet_core.errors import ConfigError

_SQLITE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_SQLITE_TEXT = ("no such table", "no such column", "Could not decode")
_POSTGRES = ("42P01", "42703", "XX001", "XX002")
"""No such table, no such column, corrupted data, corrupted index."""

MOVE = "move the file that state.url names away, with its -wal and -shm beside it, then: rivet state rebuild"
RESTORE = "restore it from a backup, or point state.url elsewhere; then: rivet state rebuild"


def damage(error: Exception, what: str, *, engine: str) -> ConfigError | None:
    """Return the error that says that the state is damaged and how to get on, `None` where something else is wrong.

    `what` begins the message. A value that cannot be read back (`ValueError`) is damage too: only what can be is written.
    """
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    detail = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", None) or ""
        found = name.startswith(_SQLITE) or detail.startswith(_SQLITE_TEXT)
    else:
        found = isinstance(cause, ValueError) or getattr(cause, "sqlstate", None) in _POSTGRES
    return damaged(f"{what}: {detail}", hint=MOVE if engine == "sqlite" else RESTORE) if found else None


def damaged(what: str, *, hint: str = MOVE) -> ConfigError:
    """Return the error for a state that cannot be what Rivet left."""
    return ConfigError(f"{what}: the state is damaged", hint=hint, code="state_damaged")
