"""The schema of a state database: which version it has, making it, and bringing an older one up to date.

`rivet_schema` holds the version, which a Rivet that knows only older ones refuses. Alembic's own table says the same; it is
looked at, and alembic imported, only while there is something to migrate.
"""

from __future__ import annotations

import threading

from sqlalchemy import Connection, Engine, insert, inspect, select, text, update

from rivet_core.errors import ConfigError
from rivet_core.state.damage import damaged
from rivet_core.state.models import METADATA, REVISION, SCHEMA, SCHEMA_VERSION, revision
from rivet_core.state.waiting import LEFT, Patience

_LOCK = 0x7269766574
"""Key of the advisory lock ("rivet") under which one process at a time makes or migrates a state in PostgreSQL."""

_ALEMBIC = threading.Lock()
"""Alembic knows one migration per process at a time: what its scripts call is global."""


def settle(engine: Engine, place: str) -> None:
    """Make the schema where there is none, migrate an older one. `place` is what messages call the database.

    Raises `ConfigError` for a newer schema, and leaves a database that cannot be migrated as it was.
    """
    # SQLite takes the write lock at once; a server waits for its advisory lock, as long as another process migrates.
    options = {LEFT: Patience().left()} if engine.dialect.name == "sqlite" else {}
    with engine.connect().execution_options(**options) as connection, connection.begin():
        if version_of(connection, place) == SCHEMA_VERSION:
            return
        if connection.dialect.name == "postgresql":  # SQLite's transactions that write exclude each other anyway.
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        version = version_of(connection, place)  # another process may just have done it
        if version is None:
            create(connection)
        elif version < SCHEMA_VERSION:
            migrate(connection, version, place)


def version_of(connection: Connection, place: str) -> int | None:
    """Return the version of the schema, `None` where there is none.

    Raises `ConfigError` for one that is newer than known, and for a file that lacks some of its tables.
    """
    looked, file = inspect(connection), connection.dialect.name == "sqlite"
    # For a file one statement tells all names; a server is asked for one, in its own way to find a table.
    names = {*looked.get_table_names()} if file else {SCHEMA.name} if looked.has_table(SCHEMA.name) else set()
    ours = {*METADATA.tables} - {REVISION.name}
    if SCHEMA.name not in names:
        if names & ours:
            raise damaged(f"the state at {place} has no table {SCHEMA.name}")
        return None
    version: int | None = connection.execute(select(SCHEMA.c.version)).scalar()
    if version is None:
        raise damaged(f"the state at {place} does not say of which version it is")
    if version > SCHEMA_VERSION:
        raise ConfigError(
            f"the state at {place} is of a newer Rivet (schema {version}, known: {SCHEMA_VERSION})",
            hint="upgrade Rivet, or point state.url elsewhere",
            code="state_newer",
        )
    if file and version == SCHEMA_VERSION and ours - names:
        raise damaged(f"the state at {place} has no table {min(ours - names)}")
    return version


def create(connection: Connection) -> None:
    """Make every table as the newest migration leaves it; a test holds the two to each other."""
    METADATA.create_all(connection)
    connection.execute(insert(SCHEMA).values(id=1, version=SCHEMA_VERSION))
    connection.execute(insert(REVISION).values(version_num=revision(SCHEMA_VERSION)))


def migrate(connection: Connection, version: int, place: str) -> None:
    """Run the migrations after `version`, in the connection's transaction."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "rivet_core.state:migrations")
    try:
        with _ALEMBIC:
            # States made before there were migrations have a version and no revision.
            command.stamp(config, revision(version), purge=True)
            command.upgrade(config, revision(SCHEMA_VERSION))
    except CommandError as error:
        raise ConfigError(
            f"the state at {place} cannot be brought from schema {version} to {SCHEMA_VERSION}: {error}",
            hint="restore the state from a backup, or point state.url elsewhere and run: rivet state rebuild",
            code="state_migration",
        ) from error
    connection.execute(update(SCHEMA).values(version=SCHEMA_VERSION))
