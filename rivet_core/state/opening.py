"""Opening the state database: for writing, or strictly for reading."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, ProgrammingError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from rivet_core.errors import ConfigError, RivetError
from rivet_core.references import find_inline_credentials
from rivet_core.state.damage import damage
from rivet_core.state.image import copy_file, copy_server, in_memory
from rivet_core.state.models import METADATA, SCHEMA_VERSION
from rivet_core.state.schema import create, migrate, settle, version_of
from rivet_core.state.store import StateStore
from rivet_core.state.waiting import BUSY_SECONDS, begin_postgres, begin_sqlite

_DRIVERS = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
"""The drivers that the source plugins bring, where the URL names none."""


def open_state(url: str, *, base: Path | None = None) -> StateStore:
    """Open the state for writing, creating what is missing and migrating what is older.

    A relative SQLite path is relative to `base`. Raises `ConfigError` when it cannot be opened, and when its schema is newer
    than this Rivet knows.
    """
    place = _place(url, base)
    path = _file(place)
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        engine = _engine(place)
        try:
            settle(engine, shown(place))
        except (ProgrammingError, IntegrityError):
            # Another first run made the tables meanwhile; what is still wrong the second time is no race.
            settle(engine, shown(place))
    except (OSError, SQLAlchemyError, ImportError) as error:
        raise _cannot_open(place, error) from error
    return StateStore(engine)


def read_state(url: str, *, base: Path | None = None) -> StateStore:
    """Open a view of the state that never creates or writes anything, also in a directory one cannot write to.

    Where nothing exists yet the view is empty and in memory only. SQLite is read as one consistent copy of its file; an older
    schema is migrated in a copy.
    """
    place = _place(url, base)
    path = _file(place)
    try:
        if path is not None and not path.exists():
            return _empty()
        engine = _engine(place) if path is None else in_memory(copy_file(path))
        with engine.connect() as connection:
            version = version_of(connection, shown(place))
        if version is None:
            engine.dispose()
            return _empty()
        if version < SCHEMA_VERSION:
            engine = _migrated(engine, version, shown(place))
    except (OSError, SQLAlchemyError, sqlite3.Error, ImportError) as error:
        raise _cannot_open(place, error) from error
    return StateStore(engine, read_only=True)


def state_exists(url: str, *, base: Path | None = None) -> bool:
    """Whether anything was ever kept there; creates nothing. Raises `ConfigError` when it cannot be looked at."""
    place = _place(url, base)
    path = _file(place)
    try:
        if path is not None and not path.exists():
            return False
        engine = _engine(place) if path is None else in_memory(copy_file(path))
        with engine.connect() as connection:
            found = version_of(connection, shown(place))
        engine.dispose()
    except (OSError, SQLAlchemyError, sqlite3.Error, ImportError) as error:
        raise _cannot_open(place, error) from error
    return found is not None


def refuse_foreign(path: Path) -> None:
    """Raise `ConfigError` for an SQLite file that is something else's: a database with other tables, or no database."""
    if not path.exists():
        return
    try:
        # Not copied: it may be a source, as large as they are.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"{path} cannot become a state: {error}", hint="name a new file", code="state_foreign") from None
    other = sorted(name for name in names - {*METADATA.tables} if not name.startswith("sqlite_"))
    if other:
        raise ConfigError(
            f"{path} is a database of something else: it has a table {other[0]}", hint="name a new file", code="state_foreign"
        )


def _migrated(engine: Engine, version: int, place: str) -> Engine:
    if not isinstance(engine.pool, StaticPool):
        server, engine = engine, copy_server(engine)
        server.dispose()
    with engine.begin() as connection:
        migrate(connection, version, place)
    return engine


def _empty() -> StateStore:
    engine = in_memory()
    with engine.begin() as connection:
        create(connection)
    return StateStore(engine, read_only=True)


def _place(url: str, base: Path | None) -> URL:
    try:
        place = make_url(url)
    except ArgumentError as error:
        raise ConfigError(
            f"state.url is not a database URL: {shown_unparsed(url)}",
            hint='write it as "sqlite:///.rivet/state.db"',
            code="state_url",
        ) from error
    if place.drivername in _DRIVERS:
        place = place.set(drivername=_DRIVERS[place.drivername])
    if place.get_backend_name() == "sqlite" and place.database and place.database != ":memory:" and base is not None:
        place = place.set(database=str(base / place.database))
    return place


def shown(place: URL) -> str:
    """Return a URL for messages: without password, and without query parameters that are secret or look so."""
    kept = {name: value for name, value in place.query.items() if not _looks_secret(name, value)}
    return place.set(query=kept).render_as_string()


def shown_unparsed(url: str) -> str:
    """Return what is no URL for messages: nothing before its last `@`, and nothing at all when the rest looks secret."""
    rest = url.rpartition("@")[2]
    return "it holds a credential, and is not shown" if find_inline_credentials({"url": rest}) else rest


def _looks_secret(name: str, value: str | tuple[str, ...]) -> bool:
    values = [value] if isinstance(value, str) else list(value)
    return any(find_inline_credentials({key: text}) for text in values for key in (name, name.replace("-", "_")))


def _file(place: URL) -> Path | None:
    if place.get_backend_name() != "sqlite" or not place.database or place.database == ":memory:":
        return None
    return Path(place.database)


def _engine(place: URL) -> Engine:
    if place.get_backend_name() != "sqlite":
        engine = create_engine(place, pool_pre_ping=True)
        if place.get_backend_name() == "postgresql":
            event.listen(engine, "begin", begin_postgres)
        return engine
    options: dict[str, Any] = {"poolclass": StaticPool} if _file(place) is None else {"pool_size": 8, "max_overflow": 64}
    engine = create_engine(place, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}, **options)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", begin_sqlite)
    return engine


def _prepare(connection: Any, record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # A lost power supply may take the last commits with it, never the order of them; current.json heals a cursor left behind.
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _cannot_open(place: URL, error: Exception) -> RivetError:
    found = damage(error, f"cannot open the state at {shown(place)}", engine=place.get_backend_name())
    if found is not None:
        return found
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if isinstance(error, NoSuchModuleError | ImportError):
        hint = f"install the driver of {place.drivername}"
    else:
        hint = "check state.url: the path must be writable, a server reachable"
    detail = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
    return ConfigError(f"cannot open the state at {shown(place)}: {detail}", hint=hint, code="state_unreachable")
