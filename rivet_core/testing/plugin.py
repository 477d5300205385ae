"""The pytest plugin (entry point `rivet`): fixtures for private servers and for the real command line.

Imported by every pytest run of an environment that has rivet-core, so it imports nothing heavy; each fixture imports what it
needs. A server starts when the first test asks for it, once per test process, and stops at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from rivet_core.testing.mariadb import MariaServer
    from rivet_core.testing.mariadb_database import MariaDatabase
    from rivet_core.testing.postgres import PostgresServer
    from rivet_core.testing.postgres_database import PostgresDatabase
    from rivet_core.testing.process import MissingServer
    from rivet_core.testing.project import Project
    from rivet_core.testing.proxy import FaultProxy
    from rivet_core.testing.s3 import S3Bucket, S3Server
    from rivet_core.testing.s3_proxy import S3Proxy
    from rivet_core.testing.standby import StandbyServer
    from rivet_core.testing.tls import TlsMariaServer, TlsPostgresServer

pytest.register_assert_rewrite("rivet_core.testing.conformance", "rivet_core.testing.project")

REQUIRE_VARIABLE = "RIVET_REQUIRE_SERVICES"
MISSING = "missing server: "


MARKERS = {
    "postgres": "needs a private PostgreSQL server",
    "mysql": "needs a private MariaDB server",
    "s3": "needs a private S3-compatible server",
}
"""Marker -> what it means. A test is marked by the fixtures it asks for."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with the servers it needs, so that `-m "not mysql"` means what it says."""
    for item in items:
        for name in MARKERS:
            if {f"{name}_server", f"{name}_tls_server"} & set(getattr(item, "fixturenames", ())) and item.get_closest_marker(
                name
            ) is None:
                item.add_marker(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """A fixture whose server is missing skips its test."""
    return (yield from _skipping())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """So does a test that needs more of a server than it may ask, such as restarting one that is not ours."""
    return (yield from _skipping())


def _skipping() -> Generator[None, object, object]:
    try:
        return (yield)
    except Exception as error:
        from rivet_core.testing.process import MissingServer

        if isinstance(error, MissingServer):
            refuse(error)
        raise


def refuse(missing: MissingServer) -> NoReturn:
    """Skip the test and say what would bring the server, or fail where servers are required."""
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{MISSING}{missing} ({REQUIRE_VARIABLE}=1)", pytrace=False)
    pytest.skip(f"{MISSING}{missing}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A running PostgreSQL, private to this test process, or the one of `RIVET_TEST_POSTGRES_URL`."""
    from rivet_core.testing.postgres import open_postgres

    server = open_postgres()
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
def postgres_standby_server(postgres_server: PostgresServer) -> Iterator[StandbyServer]:
    """A hot standby that follows `postgres_server`: `.catch_up()`, `.pause()`, `.resume()`."""
    from rivet_core.testing.standby import StandbyServer

    server = StandbyServer.follow(postgres_server)
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def postgres_standby(postgres: PostgresDatabase, postgres_standby_server: StandbyServer) -> PostgresDatabase:
    """The database of `postgres`, as the standby shows it; `postgres_standby_server.catch_up()` waits for what was written."""
    postgres_standby_server.start()
    postgres_standby_server.catch_up()
    return postgres_standby_server.database(postgres.name)


@pytest.fixture(scope="session")
def postgres_tls_server() -> Iterator[TlsPostgresServer]:
    """A PostgreSQL that takes no TCP connection without TLS: `.certificates`, `.logins()`."""
    from rivet_core.testing.tls import TlsPostgresServer

    server = TlsPostgresServer.create()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def postgres_tls(postgres_tls_server: TlsPostgresServer) -> Iterator[PostgresDatabase]:
    """A fresh database on `postgres_tls_server`."""
    database = postgres_tls_server.create_database()
    yield database
    postgres_tls_server.drop_database(database.name)


@pytest.fixture(scope="session")
def mysql_tls_server() -> Iterator[TlsMariaServer]:
    """A MariaDB that offers TLS: `.certificates`."""
    from rivet_core.testing.tls import TlsMariaServer

    server = TlsMariaServer.create()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def mysql_tls(mysql_tls_server: TlsMariaServer) -> Iterator[MariaDatabase]:
    """A fresh database on `mysql_tls_server`."""
    database = mysql_tls_server.create_database()
    yield database
    mysql_tls_server.drop_database(database.name)


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[MariaServer]:
    """A running MariaDB (utf8mb4), private to this test process, or the server of `RIVET_TEST_MYSQL_URL`."""
    from rivet_core.testing.mariadb import open_mysql

    server = open_mysql()
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


@pytest.fixture(scope="session")
def mysql_latin1_server() -> Iterator[MariaServer]:
    """A MariaDB that keeps its own default character set, latin1."""
    from rivet_core.testing.mariadb import MariaServer

    server = MariaServer.create(charset=None)
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def mysql_latin1(mysql_latin1_server: MariaServer) -> Iterator[MariaDatabase]:
    """A fresh database on a server whose default character set is latin1."""
    mysql_latin1_server.start()
    database = mysql_latin1_server.create_database()
    yield database
    mysql_latin1_server.start()
    mysql_latin1_server.drop_database(database.name)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A running S3-compatible store, private to this test process, or the one of `RIVET_TEST_S3_ENDPOINT`."""
    from rivet_core.testing.s3 import open_s3

    server = open_s3()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def s3(s3_server: S3Server) -> Iterator[S3Bucket]:
    """A fresh bucket: `.endpoint`, `.name`, `.access_key`, `.secret_key`, `.environ`, `.put()`, `.get()`, `.keys()`."""
    bucket = s3_server.bucket()
    yield bucket
    bucket.remove()


@pytest.fixture
def fault_proxy() -> Iterator[Callable[[str, int], FaultProxy]]:
    """Make proxies: `fault_proxy(host, port)` listens on `.port` and passes everything until a fault is set on it."""
    from rivet_core.testing.proxy import FaultProxy

    with ExitStack() as stack:
        yield lambda host, port: stack.enter_context(FaultProxy(host, port))


@pytest.fixture
def s3_proxy(s3: S3Bucket) -> Iterator[S3Proxy]:
    """A proxy before the store of `s3`: `.url` is an endpoint, `.fail(operation, answer)` sets a fault."""
    from rivet_core.testing.s3_proxy import S3Proxy

    with S3Proxy(s3.endpoint) as proxy:
        yield proxy


@pytest.fixture
def rivet(tmp_path: Path) -> Project:
    """An empty project directory in which the real command line runs as a process of its own."""
    from rivet_core.testing.project import Project

    return Project(tmp_path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly which servers were missing, how many tests that cost, and what brings them."""
    reasons: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if MISSING in reason:
            text = reason.partition(MISSING)[2]
            reasons[text] = reasons.get(text, 0) + 1
    if reasons:
        terminalreporter.section("MISSING SERVERS", yellow=True, bold=True)
        for text, tests in sorted(reasons.items()):
            terminalreporter.write_line(f"{tests} tests skipped: {text}")
