"""The server that everybody reads from, private to the run: PostgreSQL or MariaDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.tables import MARIADB, POSTGRES, Wording
from rivet_core.testing.mariadb import MariaServer
from rivet_core.testing.postgres import PostgresServer
from rivet_core.testing.postgres_log import PostgresLog

_POSTGRES = {"shared_buffers": "1GB", "log_statement": "none", "log_min_duration_statement": "0", "max_connections": "100"}
_MARIADB = "innodb_buffer_pool_size = 1073741824, GLOBAL long_query_time = 0, GLOBAL log_output = 'TABLE'"
_DURATION = re.compile(r"duration: ([\d.]+) ms")


@dataclass(frozen=True, slots=True)
class Engine:
    """One kind of server. `watch` starts looking and returns what reads the seconds of the longest statement since then."""

    name: str
    wording: Wording
    start: Callable[[], Any]
    watch: Callable[[Any], Callable[[], float]]


def _start_postgres() -> PostgresServer:
    server = PostgresServer.create()
    with (server.data / "postgresql.conf").open("a") as config:
        config.writelines(f"{name} = '{value}'\n" for name, value in _POSTGRES.items())
    server.restart()
    return server


def _watch_postgres(database: Any) -> Callable[[], float]:
    log = PostgresLog(database.server.output, database.name).mark()
    return lambda: max((float(found) / 1000 for found in _DURATION.findall(log.read_text())), default=0.0)


def _start_mariadb() -> MariaServer:
    server = MariaServer.create()
    server.admin().execute(f"SET GLOBAL {_MARIADB}, GLOBAL slow_query_log = 1")
    return server


def _watch_mariadb(database: Any) -> Callable[[], float]:
    admin = database.server.admin()
    admin.execute("TRUNCATE TABLE mysql.slow_log")

    def longest() -> float:
        asked = "SELECT COALESCE(MAX(TIME_TO_SEC(query_time)), 0) FROM mysql.slow_log WHERE user_host LIKE 'rivet%'"
        return float(admin.execute(asked)[0][0])

    return longest


ENGINES: Mapping[str, Engine] = {
    "postgres": Engine("postgres", POSTGRES, _start_postgres, _watch_postgres),
    "mysql": Engine("mysql", MARIADB, _start_mariadb, _watch_mariadb),
}


def psql() -> Path | None:
    """Return PostgreSQL's own client beside the server's programs, `None` when it is not there."""
    from rivet_core.testing.postgres import find_programs

    found = find_programs(lambda directory: (directory / "psql").exists()) / "psql"
    return found if found.exists() else None
