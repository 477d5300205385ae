"""One connection to the server: read-only, UTC, utf8mb4, with limits of its own; and what the server said it is."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from rivet_core.errors import SourceError
from rivet_core.facts import Tuning
from rivet_core.sql.endpoint import Endpoint
from rivet_mysql.faults import source_error
from rivet_mysql.tls import driver_arguments, is_protected

Row: TypeAlias = tuple[Any, ...]

CONNECT_SECONDS = 15
IDLE_SECONDS = 28800
SEND_SECONDS = 3600
"""How long the server waits while a slow destination keeps us from reading."""

PARSING_MODES = frozenset(
    {"ANSI_QUOTES", "PIPES_AS_CONCAT", "IGNORE_SPACE", "REAL_AS_FLOAT", "NO_BACKSLASH_ESCAPES", "HIGH_NOT_PRECEDENCE"}
    | {"NO_UNSIGNED_SUBTRACTION", "MSSQL", "ORACLE", "POSTGRESQL", "DB2", "MAXDB"}
)
"""Parts of sql_mode that decide what a user's query means; the others could change or refuse values and are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What the server is: `version` as `SELECT VERSION()` says (the handshake lies), and its own sql_mode."""

    version: str
    sql_mode: str

    @property
    def is_mariadb(self) -> bool:
        """Whether it is MariaDB rather than MySQL."""
        return "mariadb" in self.version.lower()

    @property
    def engine(self) -> str:
        """`mariadb` or `mysql`."""
        return "mariadb" if self.is_mariadb else "mysql"

    def settings(self, tuning: Tuning) -> tuple[str, ...]:
        """Return the statements that make a session fit for reading; the second one makes it read-only."""
        modes = ",".join(mode for mode in self.sql_mode.split(",") if mode in PARSING_MODES)
        lock = max(1, round(tuning.lock_timeout_seconds)) if tuning.lock_timeout_seconds else 31536000
        values = {
            "time_zone": "'+00:00'",
            "sql_mode": f"'{modes}'",
            "net_write_timeout": str(SEND_SECONDS),
            "net_read_timeout": str(SEND_SECONDS),
            "wait_timeout": str(IDLE_SECONDS),
            "lock_wait_timeout": str(lock),
            "innodb_lock_wait_timeout": str(min(lock, 1073741824)),
            "sql_select_limit": "DEFAULT",
            "sql_big_selects": "1",
        }
        if self.is_mariadb:
            values["max_statement_time"] = f"{tuning.statement_timeout_seconds:g}"
        else:
            values["max_execution_time"] = str(round(tuning.statement_timeout_seconds * 1000))
            if not self.version.startswith("5."):
                values["information_schema_stats_expiry"] = "0"
        return (
            "SET SESSION " + ", ".join(f"{name} = {value}" for name, value in values.items()),
            # Under a server-wide READ UNCOMMITTED rows would be read that nobody ever committed.
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        )


class Link:
    """One open connection. Values arrive as the bytes the server sent; `text` and `number` read them."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.applied: tuple[str, ...] = ()
        self.statements = 0
        self.raw = self._open()
        self.thread = int(self.raw.thread_id())  # type: ignore[no-untyped-call]

    def _open(self) -> Connection[Cursor]:
        endpoint = self.endpoint
        where = {"unix_socket": endpoint.host} if endpoint.is_socket else {"host": endpoint.host, "port": endpoint.port}
        try:
            raw = pymysql.connect(
                **where,
                user=endpoint.user,
                password=endpoint.password.reveal() if endpoint.password else "",
                database=endpoint.database or None,
                charset="utf8mb4",
                use_unicode=False,
                conv={},
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                program_name="rivet",
                **driver_arguments(endpoint.tls),
            )
        except (pymysql.MySQLError, OSError, RuntimeError) as error:
            raise source_error(error, endpoint, f"cannot connect to {endpoint.address}") from None
        wanted = endpoint.tls.mode in ("require", "verify-ca", "verify-full")
        if wanted and not is_protected(getattr(raw, "_sock", None)):
            raw.close()
            raise SourceError(
                f"cannot connect to {endpoint.address}: the server offers no TLS",
                hint=f"tls.mode is {endpoint.tls.mode}: switch TLS on at the server",
                error_class="auth",
            )
        return raw

    @property
    def is_protected(self) -> bool:
        """Whether the connection is under TLS."""
        return is_protected(getattr(self.raw, "_sock", None))

    def apply(self, settings: tuple[str, ...]) -> None:
        """Send session settings unless these are in force."""
        if settings != self.applied:
            for statement in settings:
                self.rows(statement, doing="preparing the session")
            self.applied = settings

    def rows(self, sql: str, *, doing: str) -> list[Row]:
        """Run one statement and return all its rows. Raises `SourceError`."""
        return self.described(sql, doing=doing)[1]

    def described(self, sql: str, *, doing: str) -> tuple[Sequence[Any], list[Row]]:
        """Run one statement; return the driver's field packets and all rows. Raises `SourceError`."""
        self.statements += 1
        try:
            with self.raw.cursor() as cursor:
                cursor.execute(sql)
                result = cursor._result  # type: ignore[attr-defined]  # flags and character sets are nowhere else
                return list(getattr(result, "fields", ())), list(cursor.fetchall())
        except (pymysql.MySQLError, OSError) as error:
            raise source_error(error, self.endpoint, doing) from error

    def close(self) -> None:
        """Close the connection; twice is fine."""
        with contextlib.suppress(pymysql.MySQLError, OSError):
            if self.raw.open:
                self.raw.close()

    def drop(self) -> None:
        """Close the socket without a word, whatever is still coming."""
        with contextlib.suppress(pymysql.MySQLError, OSError):
            self.raw._force_close()  # type: ignore[attr-defined]


def ask_server(link: Link) -> Server:
    """Return what the server is."""
    version, mode = link.rows("SELECT VERSION(), @@GLOBAL.sql_mode", doing="asking the server what it is")[0]
    return Server(version=text(version), sql_mode=text(mode))


def text(value: bytes | str | None) -> str:
    """Return a value as text; NULL as the empty text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def number(value: bytes | str | None) -> int | None:
    """Return a whole number, `None` for NULL and for what is none."""
    try:
        return int(float(text(value))) if "." in text(value) else int(text(value))
    except (ValueError, OverflowError):
        return None
