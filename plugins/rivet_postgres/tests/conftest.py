"""Fixtures of this plugin: an open session on a fresh database, and short ways to read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pyarrow as pa
import pytest

from rivet_core.facts import InspectItem, Mode, ReadSpec
from rivet_postgres.options import PostgresOptions
from rivet_postgres.session import PostgresSession, connect

ENGINES = ["adbc", "pgcopy"] if find_spec("rivet_pgcopy") or os.environ.get("RIVET_REQUIRE_SERVICES") else ["adbc"]
"""Every test reads through each engine; rivet-pgcopy is there where it could be built, and must be where CI runs."""


def open_session(url: str, **keys) -> PostgresSession:
    return connect(PostgresOptions.model_validate({"url": url, **keys}))


class Source:
    """A session with the few calls most tests make."""

    def __init__(self, database, engine: str = "auto") -> None:
        self.database = database
        self.engine = engine
        self.session = open_session(database.url, engine=engine)

    def execute(self, sql, *parameters, **keys):
        return self.database.execute(sql, *parameters, **keys)

    def reopen(self) -> None:
        self.session.close()
        self.session = open_session(self.database.url, engine=self.engine)

    def facts(self, *names, **keys):
        return self.session.inspect([InspectItem(name=name, **keys) for name in names]).tables

    def spec(self, table=None, **keys) -> ReadSpec:
        return ReadSpec(export=keys.pop("export", "e"), table=table, **keys)

    def read_unit(self, spec, unit):
        stream = self.session.read(spec, unit)
        batches = list(stream)
        return pa.Table.from_batches(batches, stream.schema), stream

    def read(self, spec, committed=()):
        """Read all units of a run: the rows, and the marks of the unit that moves the cursor."""
        tables, marks = [], None
        for unit in self.session.units(spec, committed):
            table, stream = self.read_unit(spec, unit)
            tables.append(table)
            marks = stream.marks or marks
        return pa.concat_tables(tables), marks

    def full(self, table=None, **keys) -> pa.Table:
        return self.read(self.spec(table, **keys))[0]

    def incremental(self, table, *cursor, committed=(), **keys):
        return self.read(self.spec(table, mode=Mode.INCREMENTAL, cursor=cursor, **keys), committed)

    def chunked(self, table, **keys):
        spec = self.spec(table, mode=Mode.CHUNKED, **keys)
        return [self.read_unit(spec, unit)[0] for unit in self.session.units(spec, ())]


@pytest.fixture(scope="module")
def module_database(postgres_server):
    """One database for the tests of a file: creating one takes longer than most tests."""
    postgres_server.start()
    database = postgres_server.create_database()
    yield database
    postgres_server.start()
    postgres_server.drop_database(database.name)


@pytest.fixture
def database(module_database):
    """The file's database, emptied."""
    module_database.server.start()
    owner = f'"{module_database.user}"'
    schemas = module_database.execute(
        "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
    )
    for (schema,) in schemas:
        module_database.execute(f'DROP SCHEMA "{schema}" CASCADE', admin=True)
    module_database.execute(f"CREATE SCHEMA public AUTHORIZATION {owner}", admin=True)
    return module_database


@pytest.fixture(params=ENGINES)
def engine(request) -> str:
    """The reader: every test that reads runs once with each."""
    return request.param


@pytest.fixture
def source(database, engine) -> Iterator[Source]:
    found = Source(database, engine)
    yield found
    found.session.close()
