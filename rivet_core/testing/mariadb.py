"""A private MariaDB: initialised once, started on a free port of the loopback, every statement logged."""

from __future__ import annotations

import os
import signal
import subprocess
from itertools import count
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from rivet_core.testing.mariadb_database import MariaDatabase
from rivet_core.testing.mariadb_programs import MariaPrograms, find_programs
from rivet_core.testing.process import LOOPBACK, MissingServer, ServerFailed, ServerProcess, accepts, free_port, short_directory

ROLE = "rivet"
ROLE_PASSWORD = "pw-of-rivet-7Q"  # noqa: S105 - of a server that lives for one test session
ADMIN = "root"
ADMIN_PASSWORD = "pw-of-admin-3K"  # noqa: S105
URL_VARIABLE = "RIVET_TEST_MYSQL_URL"

_SYSTEM_TABLES = ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")
_SMALL = (
    "--innodb-log-file-size=32M",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-flush-method=nosync",
)

_numbers = count(1)


class MariaServer:
    """One server of the test session. Accounts: `root` (all rights) and `rivet` (rights on its own databases)."""

    def __init__(self, directory: Path, programs: MariaPrograms, port: int, charset: str | None) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.programs = programs
        self.port = port
        self.general_log = directory / "general.log"
        self.base = [str(programs.server), "--no-defaults", f"--datadir={self.data}", *_SMALL]
        self.base += [f"--lc-messages-dir={programs.share / 'english'}", f"--character-sets-dir={programs.share / 'charsets'}"]
        # A server that starts removes temporary tables from its tmpdir, those of another server as well.
        self.base.append(f"--tmpdir={directory}")
        if os.geteuid() == 0:
            self.base.append("--user=root")
        if charset:
            self.base.append(f"--character-set-server={charset}")
        self.environ = {**os.environ, **programs.environ, "TZ": "UTC"}
        self.base += self.options()
        listen = [f"--bind-address={LOOPBACK}", f"--port={port}", f"--socket={directory / 'm.sock'}", "--skip-name-resolve"]
        listen.append(f"--pid-file={directory / 'pid'}")
        logs = [
            "--general-log=1",
            f"--general-log-file={self.general_log}",
            "--log-output=FILE",
            f"--pid-file={directory / 'pid'}",
        ]
        self.process = ServerProcess(
            [*self.base, *listen, *logs],
            directory=directory,
            output=directory / "mariadb.log",
            stop_signal=signal.SIGTERM,
            environ=self.environ,
        )

    @classmethod
    def create(cls, charset: str | None = "utf8mb4") -> Self:
        """Initialise and start a server of our own; `charset=None` leaves the server's default, latin1 in MariaDB 10."""
        programs = find_programs()
        server = cls(short_directory("my"), programs, free_port(), charset)
        try:
            server._initialise()
            server.start()
        except BaseException:
            server.remove()
            raise
        return server

    @property
    def external(self) -> bool:
        """Whether somebody else runs it; never for a server of our own."""
        return False

    def options(self) -> list[str]:
        """Return what the server is told besides; nothing here."""
        return []

    def _initialise(self) -> None:
        self.data.mkdir()
        script = ["create database mysql;\n", "use mysql;\n", "set @auth_root_socket = null;\n"]
        script += [(self.programs.share / name).read_text() for name in _SYSTEM_TABLES]
        script += ["create database sys;\n", (self.programs.share / "mysql_sys_schema.sql").read_text()]
        script += ["flush privileges;\n", f"create user {ROLE}@'%' identified by '{ROLE_PASSWORD}';\n"]
        for host in ("localhost", LOOPBACK):
            script.append(f"alter user {ADMIN}@'{host}' identified by '{ADMIN_PASSWORD}';\n")
        done = subprocess.run(
            [*self.base, "--bootstrap"],
            input="".join(script),
            capture_output=True,
            text=True,
            check=False,
            env=self.environ,
        )
        if done.returncode != 0:
            raise ServerFailed(f"{self.programs.server} could not make its system tables:\n{done.stderr[-2000:]}")

    def start(self) -> None:
        """Start the server unless it runs."""
        if not self.process.running:
            self.process.start(lambda: accepts(self.port) and self.admin().answers())

    def stop(self) -> None:
        """Stop it as an administrator would: clients are cut off, data stays."""
        self.process.stop()

    def restart(self) -> None:
        """Stop and start again on the same port."""
        self.stop()
        self.start()

    def remove(self) -> None:
        """Stop it and remove its data."""
        self.process.remove()

    def admin(self, database: str = "mysql") -> MariaDatabase:
        """Return `database` as it is, for root."""
        return MariaDatabase(self, name=database, host=LOOPBACK, port=self.port, user=ADMIN, password=ADMIN_PASSWORD)

    def create_database(self) -> MariaDatabase:
        """Create a fresh database that `rivet` has all rights on."""
        name = f"rivet_{os.getpid()}_{next(_numbers)}"
        self.admin().execute(f"CREATE DATABASE `{name}`")
        self.admin().execute(f"GRANT ALL ON `{name.replace('_', chr(92) + '_')}`.* TO {ROLE}@'%'")
        return self.database(name)

    def database(self, name: str) -> MariaDatabase:
        """Return `database` as it is, for the ordinary account `rivet`."""
        return MariaDatabase(self, name=name, host=LOOPBACK, port=self.port, user=ROLE, password=ROLE_PASSWORD)

    def drop_database(self, name: str) -> None:
        """Drop a database."""
        self.admin().execute(f"DROP DATABASE IF EXISTS `{name}`")


class ExternalMaria(MariaServer):
    """A MariaDB or MySQL somebody else runs, named by `RIVET_TEST_MYSQL_URL` (an account that may create databases).

    It cannot be restarted and its log cannot be read; tests that need either are skipped with that reason.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname or LOOPBACK
        self.port = parts.port or 3306
        self.user = parts.username or ADMIN
        self.password = parts.password or ""
        self.general_log = Path(os.devnull)

    @property
    def external(self) -> bool:
        """Somebody else runs it."""
        return True

    def start(self) -> None:
        """It runs already."""

    def stop(self) -> None:
        """Refuse: it is not ours."""
        raise MissingServer("a private MariaDB", f"{URL_VARIABLE} is set", f"unset {URL_VARIABLE}")

    def remove(self) -> None:
        """Leave it alone."""

    def admin(self, database: str = "mysql") -> MariaDatabase:
        """Return `database`, for the account of the URL."""
        return MariaDatabase(self, name=database, host=self.host, port=self.port, user=self.user, password=self.password)

    def create_database(self) -> MariaDatabase:
        """Create a fresh database."""
        name = f"rivet_{os.getpid()}_{next(_numbers)}"
        self.admin().execute(f"CREATE DATABASE `{name}`")
        return self.database(name)

    def database(self, name: str) -> MariaDatabase:
        """Return `database`, for the account of the URL."""
        return self.admin(name)


def open_mysql(charset: str | None = "utf8mb4") -> MariaServer:
    """Return the external server if one is named, else a private one that runs."""
    url = os.environ.get(URL_VARIABLE)
    return ExternalMaria(url) if url else MariaServer.create(charset)
