"""One database of a test PostgreSQL: its URLs, and statements on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rivet_core.testing.postgres_log import APPLICATION, PostgresLog

if TYPE_CHECKING:
    import psycopg

    from rivet_core.testing.postgres import PostgresServer


@dataclass(frozen=True)
class PostgresDatabase:
    """A database with the role that owns it.

    `url` connects as that ordinary role, `admin_url` as the superuser. `log` reads what clients sent to this database.
    """

    server: PostgresServer
    name: str
    host: str
    port: int
    user: str
    password: str

    @property
    def url(self) -> str:
        """`postgresql://user:password@host:port/name`."""
        return self.url_with()

    @property
    def admin_url(self) -> str:
        """The URL of the same database for the superuser."""
        return self.server.admin(self.name).url

    def url_with(self, *, user: str | None = None, password: str | None = None, port: int | None = None) -> str:
        """Return the URL with another user, password or port (a proxy's, for instance)."""
        login = f"{quote(user or self.user, safe='')}:{quote(self.password if password is None else password, safe='')}"
        return f"postgresql://{login}@{self.host}:{port or self.port}/{self.name}"

    @property
    def log(self) -> PostgresLog:
        """The statements that clients sent to this database."""
        if self.server.external:
            self.server.stop()  # raises what is missing: a server whose log can be read
        return PostgresLog(self.server.output, self.name)

    def connect(self, *, admin: bool = False) -> psycopg.Connection[tuple[Any, ...]]:
        """Open a connection in autocommit, for tests that hold a transaction, a lock or a session open."""
        import psycopg

        url = self.admin_url if admin else self.url
        return psycopg.connect(url, autocommit=True, application_name=APPLICATION, connect_timeout=10)

    def execute(self, sql: str, parameters: Sequence[Any] | None = None, *, admin: bool = False) -> list[tuple[Any, ...]]:
        """Run one statement, or several without parameters, and return the rows of the last.

        As the owner of the database, or as the superuser with `admin`.
        """
        with self.connect(admin=admin) as connection:
            cursor = connection.execute(sql, parameters)
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []

    def answers(self) -> bool:
        """Whether the server takes connections now."""
        import psycopg

        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
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
