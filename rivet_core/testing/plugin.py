"""The pytest plugin (entry point `rivet`): fixtures for private servers and for the real command line.

Imported by every pytest run of an environment that has rivet-core, so it imports nothing heavy; each fixture imports what it
needs. A server starts when the first test asks for it, once per test process, and stops at the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from rivet_core.testing.mariadb import MariaServer
    from rivet_core.testing.mariadb_database import MariaDatabase
    from rivet_core.testing.postgres import PostgresServer
    from rivet_core.testing.postgres_database import PostgresDatabase
    from rivet_core.testing.process import MissingServer

REQUIRE_VARIABLE = "RIVET_REQUIRE_SERVICES"
MISSING = "missing server: "


def refuse(missing: MissingServer) -> NoReturn:
    """Skip the test and say what would bring the server, or fail where servers are required."""
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{MISSING}{missing} ({REQUIRE_VARIABLE}=1)", pytrace=False)
    pytest.skip(f"{MISSING}{missing}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A running PostgreSQL, private to this test process, or the one of `RIVET_TEST_POSTGRES_URL`."""
    from rivet_core.testing.postgres import open_postgres
    from rivet_core.testing.process import MissingServer

    try:
        server = open_postgres()
    except MissingServer as missing:
        refuse(missing)
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    """A fresh database: `.url`, `.admin_url`, `.execute(sql)`, `.log.statements()`, `.restart()`, `.stop()`."""
    postgres_server.start()
    database = postgres_server.create_database()
    yield database
    postgres_server.start()
    postgres_server.drop_database(database.name)


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[MariaServer]:
    """A running MariaDB (utf8mb4), private to this test process, or the server of `RIVET_TEST_MYSQL_URL`."""
    from rivet_core.testing.mariadb import open_mysql
    from rivet_core.testing.process import MissingServer

    try:
        server = open_mysql()
    except MissingServer as missing:
        refuse(missing)
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def mysql(mysql_server: MariaServer) -> Iterator[MariaDatabase]:
    """A fresh database: `.url`, `.admin_url`, `.execute(sql)`, `.log.statements()`, `.restart()`, `.stop()`."""
    mysql_server.start()
    database = mysql_server.create_database()
    yield database
    mysql_server.start()
    mysql_server.drop_database(database.name)
