"""What SQLite's result codes mean for the user: a sentence, a hint, a class, and whether trying again is worth it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from rivet_core.errors import SourceError


@dataclass(frozen=True, slots=True)
class _Fault:
    what: str
    hint: str
    error_class: str
    transient: bool = False


_BY_NAME = {
    "SQLITE_READONLY_ROLLBACK": _Fault(
        "holds a transaction that its last writer did not finish",
        "open it once with the program that writes it, so that it rolls back; Rivet never writes to a source",
        "conflict",
    ),
    "SQLITE_READONLY_RECOVERY": _Fault(
        "holds a write-ahead log that needs recovery",
        "open it once with the program that writes it; Rivet never writes to a source",
        "conflict",
    ),
    "SQLITE_READONLY_DIRECTORY": _Fault(
        "has a write-ahead log, and its directory does not allow the shared-memory file that reading it needs",
        "run `PRAGMA wal_checkpoint(TRUNCATE)` as its owner and close it, or allow writing in the directory",
        "permission",
    ),
    "SQLITE_READONLY_CANTINIT": _Fault(
        "has a write-ahead log whose shared memory cannot be used from here",
        "run `PRAGMA wal_checkpoint(TRUNCATE)` as its owner and close it, or allow writing in the directory",
        "permission",
    ),
    "SQLITE_BUSY_RECOVERY": _Fault("is being recovered by another process", "try again in a moment", "conflict", True),
    "SQLITE_ERROR_MISSING_COLLSEQ": _Fault(
        "uses a collation that only its own application defines", "leave the column out, or read by another one", "other"
    ),
}

_BY_CODE = {
    sqlite3.SQLITE_BUSY: _Fault(
        "is locked by a writer",
        "let the writer finish, raise the lock timeout, or switch the database to WAL mode",
        "conflict",
        True,
    ),
    sqlite3.SQLITE_LOCKED: _Fault("is locked", "let the other statement finish and try again", "conflict", True),
    sqlite3.SQLITE_CANTOPEN: _Fault(
        "cannot be opened", "check the path and the rights on the file and its directory", "connection"
    ),
    sqlite3.SQLITE_NOTADB: _Fault(
        "is not an SQLite database",
        "check the path; an encrypted database cannot be read without its own build of SQLite",
        "other",
    ),
    sqlite3.SQLITE_CORRUPT: _Fault(
        "is damaged", "run `PRAGMA integrity_check` and restore what it names from a backup", "data"
    ),
    sqlite3.SQLITE_READONLY: _Fault(
        "would have to be written to be read", "Rivet opens sources read-only; let its owner open it once", "permission"
    ),
    sqlite3.SQLITE_PERM: _Fault("may not be read", "grant read rights on the file", "permission"),
    sqlite3.SQLITE_AUTH: _Fault("may not be read", "grant read rights on the file", "permission"),
    sqlite3.SQLITE_IOERR: _Fault(
        "failed while being read from disk", "check the disk or the network file system", "connection", True
    ),
    sqlite3.SQLITE_FULL: _Fault(
        "needs more temporary disk space to sort", "free space in the temporary directory, or index the cursor", "limit"
    ),
    sqlite3.SQLITE_NOMEM: _Fault("needs more memory than there is", "lower the batch size", "limit"),
    sqlite3.SQLITE_TOOBIG: _Fault("holds a value longer than SQLite's limit", "leave the column out", "limit"),
    sqlite3.SQLITE_SCHEMA: _Fault("changed its schema while being read", "try again", "conflict", True),
    sqlite3.SQLITE_PROTOCOL: _Fault("is locked by a writer", "try again in a moment", "conflict", True),
}


def source_error(error: sqlite3.Error, path: object, doing: str = "") -> SourceError:
    """Return what the user sees for `error` on the database at `path`; `doing` says which export or table it met."""
    code = getattr(error, "sqlite_errorcode", None)
    name = getattr(error, "sqlite_errorname", "") or ""
    where = f" (while {doing})" if doing else ""
    fault = _BY_NAME.get(name) or _BY_CODE.get((code or 0) & 0xFF)
    if fault is not None:
        return SourceError(
            f"SQLite database {path} {fault.what}{where}",
            hint=fault.hint,
            transient=fault.transient,
            sqlstate=name,
            error_class=fault.error_class,
        )
    if code is not None and code & 0xFF == sqlite3.SQLITE_INTERRUPT:
        return interrupted(path, doing)
    text = str(error)
    missing = text.startswith(("no such table", "no such column", "no such module", "no such function"))
    return SourceError(
        f"SQLite database {path}: {text}{where}",
        hint="check the name in the config" if missing else "run the same statement in the sqlite3 shell",
        sqlstate=name,
        error_class="missing" if missing else "other",
    )


def interrupted(path: object, doing: str = "") -> SourceError:
    """Return the error of a statement that was cancelled from this side."""
    where = f" while {doing}" if doing else ""
    return SourceError(
        f"reading SQLite database {path} was cancelled{where}", hint="run it again with --resume", error_class="timeout"
    )
