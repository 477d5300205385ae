"""Where the extension could not be built, its tests are left out; where CI runs, it has to be there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if not find_spec("rivet_pgcopy") and not os.environ.get("RIVET_REQUIRE_SERVICES"):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="module")
def shared(postgres_server):
    """One database for the tests of a file, which name their tables apart."""
    postgres_server.start()
    database = postgres_server.create_database()
    yield database
    postgres_server.start()
    postgres_server.drop_database(database.name)


@pytest.fixture(scope="module")
def sessions(shared) -> Iterator[dict[str, object]]:
    """A session for each engine."""
    from rivet_postgres.options import PostgresOptions
    from rivet_postgres.session import connect

    found = {engine: connect(PostgresOptions(url=shared.url, engine=engine)) for engine in ("adbc", "pgcopy")}
    yield found
    for session in found.values():
        session.close()
