"""Read-only connections to one SQLite file.

A database in WAL mode that nobody has open needs a `-wal` and a `-shm` file merely to be read, and SQLite would create
them beside it. So it is opened `immutable` instead, which takes no locks and creates nothing; in exchange `verify` proves
after every read that no writer came in between, and the read counts as failed when one did. From then on the session opens
the database as any reader does: its writers make those files anyway.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rivet_core.builtin.sqlite.faults import interrupted, source_error
from rivet_core.errors import SourceError

MAGIC = b"SQLite format 3\0"
_WAL = 2
_HEADER_BYTES = 100
_NO_LIMIT = 86_400.0
"""A day: SQLite takes no wait without an end."""
_PROGRESS_STEPS = 100_000
"""Virtual machine steps between two looks at the clock: some milliseconds, too few to be seen in a profile."""

CHANGED = "source_changed"
"""The code of the error that a read without locks met a writer."""

LOCK_SECONDS = 5.0
"""How long planning waits for a writer's lock; reading waits as its tuning says."""

Signature = tuple[int, int, int, int, int]


class Connection:
    """One open connection. `raw` is the driver's; use it from one thread at a time."""

    def __init__(self, path: Path, lock_seconds: float, *, in_use: bool = False) -> None:
        self.path = path
        self._deadline = float("inf")
        self._cancelled = False
        self.statements = 0
        self.schema: tuple[int, Any] | None = None
        """The schema as it was last read, with SQLite's own number of it, which every change of the schema raises."""
        self.signature = file_signature(path)
        self.immutable = not in_use and _unused_wal(path)
        uri = f"{path.as_uri()}?mode=ro{'&immutable=1' if self.immutable else ''}"
        try:
            self.raw = sqlite3.connect(
                uri, uri=True, isolation_level=None, check_same_thread=False, timeout=_wait(lock_seconds)
            )
            self.raw.execute("PRAGMA query_only = ON").close()
            self.raw.execute("SELECT count(*) FROM sqlite_master").close()
        except sqlite3.Error as error:
            raise source_error(error, path) from error
        self.raw.set_progress_handler(self._over, _PROGRESS_STEPS)

    def execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Run one statement and count it."""
        self.statements += 1
        return self.raw.execute(statement, values)

    def _over(self) -> int:
        return 1 if self._cancelled or time.monotonic() > self._deadline else 0

    def limit_statement(self, seconds: float) -> None:
        """Interrupt what runs from now on after this many seconds; 0 is no limit."""
        self._deadline = time.monotonic() + seconds if seconds else float("inf")

    def wait_for_locks(self, seconds: float) -> None:
        """Wait at most this long for a writer's lock; 0 means no limit, as in `lock_timeout`."""
        self.raw.execute(f"PRAGMA busy_timeout = {int(_wait(seconds) * 1000)}").close()

    @property
    def cancelled(self) -> bool:
        """Whether `interrupt` was called since `reset`."""
        return self._cancelled

    def interrupt(self) -> None:
        """Stop what runs on this connection; may be called from any thread."""
        self._cancelled = True
        try:
            self.raw.interrupt()
        except sqlite3.ProgrammingError:
            return  # closed meanwhile: nothing runs

    def reset(self) -> None:
        """Leave no transaction, no limit and no cancel mark behind for the next user."""
        self._deadline, self._cancelled = float("inf"), False
        if self.raw.in_transaction:
            self.raw.execute("ROLLBACK").close()

    def fault(self, error: sqlite3.Error, doing: str = "") -> SourceError:
        """Return what the user sees for an error of this connection."""
        code = getattr(error, "sqlite_errorcode", 0) or 0
        if code & 0xFF == sqlite3.SQLITE_INTERRUPT:
            if self._cancelled:
                return interrupted(self.path, doing)
            return SourceError(
                f"SQLite database {self.path}: the statement timeout passed{f' while {doing}' if doing else ''}",
                hint="index the column it reads by, or raise `tuning.statement_timeout`",
                error_class="timeout",
            )
        return source_error(error, self.path, doing) if self.fresh else self._changed()

    def verify(self) -> None:
        """Raise a transient `SourceError` when the file changed under a connection that takes no locks."""
        if not self.fresh:
            raise self._changed()

    def _changed(self) -> SourceError:
        return SourceError(
            f"SQLite database {self.path} was written while it was being read",
            hint="nothing was lost: the unit is read again",
            code=CHANGED,
            transient=True,
            error_class="conflict",
        )

    @property
    def fresh(self) -> bool:
        """Whether the connection still sees the file as it is: always with locks, without them only when nothing changed."""
        return not self.immutable or (file_signature(self.path) == self.signature and _unused_wal(self.path))

    def close(self) -> None:
        """Close it; closing twice is fine."""
        self.raw.close()


def open_connection(path: Path, lock_seconds: float = LOCK_SECONDS, *, in_use: bool = False) -> Connection:
    """Open `path` read-only. Raises `SourceError` when it is missing, no file, not readable or not a database."""
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
    except FileNotFoundError:
        raise SourceError(
            f"SQLite database {path} does not exist",
            hint="check `path`; relative paths are relative to the config file",
            error_class="missing",
        ) from None
    except IsADirectoryError:
        raise SourceError(f"SQLite database {path} is a directory", hint="name the file in it", error_class="missing") from None
    except PermissionError:
        raise SourceError(
            f"SQLite database {path} may not be read", hint="grant read rights on the file", error_class="permission"
        ) from None
    except OSError as error:
        raise SourceError(
            f"SQLite database {path} cannot be read: {error.strerror}", hint="check the path", error_class="connection"
        ) from None
    if head and head != MAGIC:
        raise source_error(_not_a_database(), path)
    return Connection(path, lock_seconds, in_use=in_use)


def _wait(seconds: float) -> float:
    return min(seconds, _NO_LIMIT) if seconds > 0 else _NO_LIMIT


def _not_a_database() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("file is not a database")
    error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
    error.sqlite_errorname = "SQLITE_NOTADB"
    return error


def file_signature(path: Path) -> Signature:
    """Return what changes when the file is written or replaced."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0, 0, 0)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _unused_wal(path: Path) -> bool:
    """Whether the database is in WAL mode and no log beside it holds anything, so that the file alone is the database."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES or header[19] != _WAL:
            return False
        log = path.with_name(f"{path.name}-wal")
        return not log.exists() or log.stat().st_size == 0
    except OSError:
        return False
