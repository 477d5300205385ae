"""One database of a test MariaDB: its URLs, and statements on it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rivet_core.testing.mariadb_log import APPLICATION, MariaLog

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

    from rivet_core.testing.mariadb import MariaServer


@dataclass(frozen=True)
class MariaDatabase:
    """A database with the account that has all rights on it.

    `url` connects as that ordinary account, `admin_url` as root. `log` reads what clients sent to this database.
    """

    server: MariaServer
    name: str
    host: str
    port: int
    user: str
    password: str

    @property
    def url(self) -> str:
        """`mysql://user:password@host:port/name`."""
        return self.url_with()

    @property
    def admin_url(self) -> str:
        """The URL of the same database for root."""
        return self.server.admin(self.name).url

    def url_with(self, *, user: str | None = None, password: str | None = None, port: int | None = None) -> str:
        """Return the URL with another user, password or port (a proxy's, for instance)."""
        login = f"{quote(user or self.user, safe='')}:{quote(self.password if password is None else password, safe='')}"
        return f"mysql://{login}@{self.host}:{port or self.port}/{self.name}"

    @property
    def log(self) -> MariaLog:
        """The statements that clients sent to this database."""
        if self.server.external:
            self.server.stop()  # raises what is missing: a server whose log can be read
        return MariaLog(self.server.general_log, self.name)

    def connect(self, *, admin: bool = False) -> Connection[Cursor]:
        """Open a connection in autocommit, for tests that hold a transaction, a lock or a session open."""
        import pymysql
        from pymysql.constants import CLIENT

        login = self.server.admin(self.name) if admin else self
        return pymysql.connect(
            host=login.host,
            port=login.port,
            user=login.user,
            password=login.password,
            database=self.name,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=10,
            client_flag=CLIENT.MULTI_STATEMENTS,
            init_command=f"SET @application = '{APPLICATION}'",
        )

    def execute(self, sql: str, parameters: Sequence[Any] | None = None, *, admin: bool = False) -> list[tuple[Any, ...]]:
        """Run one statement, or several at once, and return the rows of the last.

        As the ordinary account, or as root with `admin`.
        """
        with closing(self.connect(admin=admin)) as connection, connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            while cursor.nextset():
                pass
            return list(cursor.fetchall())

    def answers(self) -> bool:
        """Whether the server takes connections now."""
        import pymysql

        try:
            self.execute("SELECT 1")
        except pymysql.err.OperationalError:
            return False
        return True

    def restart(self) -> None:
        """Restart the server."""
        self.server.restart()

    def stop(self) -> None:
        """Stop the server; the next test finds it running again."""
        self.server.stop()

    def start(self) -> None:
        """Start the server unless it runs."""
        self.server.start()
