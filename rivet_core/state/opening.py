"""Opening the state database: for writing, or strictly for reading."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, ProgrammingError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from rivet_core.errors import ConfigError, RivetError
from rivet_core.references import find_inline_credentials
from rivet_core.state.models import SCHEMA_VERSION, Base, SchemaRow
from rivet_core.state.store import StateStore

_DRIVERS = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
"""The drivers that the source plugins bring, where the URL names none."""

BUSY_SECONDS = 30.0
"""How long a write waits for another process's write before it fails."""


def open_state(url: str, *, base: Path | None = None) -> StateStore:
    """Open the state for writing, creating what is missing. A relative SQLite path is relative to `base`.

    Raises `ConfigError` when it cannot be opened, and when its schema is newer than this Rivet knows.
    """
    place = _place(url, base)
    path = _file(place)
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        engine = _engine(place)
        try:
            _make(engine, place)
        except (ProgrammingError, IntegrityError):
            # Another first run made the tables meanwhile; what is still wrong the second time is no race.
            _make(engine, place)
    except (OSError, SQLAlchemyError, ImportError) as error:
        raise _cannot_open(place, error) from error
    return StateStore(engine)


def _make(engine: Engine, place: URL) -> None:
    with engine.connect().execution_options(rivet_write=True) as connection, connection.begin():
        version = _version(connection)
        _refuse_newer(version, place)
        if version is None:
            Base.metadata.create_all(connection)
            connection.execute(SchemaRow.__table__.insert().values(id=1, version=SCHEMA_VERSION))  # type: ignore[attr-defined]


def read_state(url: str, *, base: Path | None = None) -> StateStore:
    """Open a view of the state that never creates or writes anything, also in a directory one cannot write to.

    Where nothing exists yet the view is empty and in memory only. SQLite is read as one consistent copy of its file.
    """
    place = _place(url, base)
    path = _file(place)
    try:
        if path is None:
            engine = _engine(place)
            with engine.connect() as connection:
                version = _version(connection)
        elif path.exists():
            engine = _memory(_copy(path))
            with engine.connect() as connection:
                version = _version(connection)
        else:
            return _empty()
    except (OSError, SQLAlchemyError, sqlite3.Error, ImportError) as error:
        raise _cannot_open(place, error) from error
    _refuse_newer(version, place)
    if version is None:
        engine.dispose()
        return _empty()
    return StateStore(engine, read_only=True)


def _empty() -> StateStore:
    engine = _memory(_private())
    Base.metadata.create_all(engine)
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
        return create_engine(place, pool_pre_ping=True)
    options: dict[str, Any] = {"poolclass": StaticPool} if _file(place) is None else {"pool_size": 8, "max_overflow": 64}
    engine = create_engine(place, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}, **options)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # A lost power supply may take the last commits with it, never the order of them; current.json heals a cursor left behind.
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A transaction that will write takes the write lock at its start: upgrading later could fail at once as busy.
    options = connection.get_execution_options()
    if not options.get("rivet_write"):
        connection.exec_driver_sql("BEGIN")
        return
    # The connection is pooled: who used it last may have waited less.
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {round((options.get('rivet_busy') or BUSY_SECONDS) * 1000)}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _version(connection: Connection) -> int | None:
    if not inspect(connection).has_table(SchemaRow.__tablename__):
        return None
    return connection.execute(select(SchemaRow.version)).scalar()


def _refuse_newer(version: int | None, place: URL) -> None:
    if version is not None and version > SCHEMA_VERSION:
        raise ConfigError(
            f"the state at {shown(place)} is of a newer Rivet (schema {version}, known: {SCHEMA_VERSION})",
            hint="upgrade Rivet, or point state.url elsewhere",
            code="state_newer",
        )


def _cannot_open(place: URL, error: Exception) -> RivetError:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if isinstance(error, NoSuchModuleError | ImportError):
        hint = f"install the driver of {place.drivername}"
    else:
        hint = "check state.url: the path must be writable, a server reachable"
    detail = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
    return ConfigError(f"cannot open the state at {shown(place)}: {detail}", hint=hint, code="state_unreachable")


def _memory(connection: sqlite3.Connection) -> Engine:
    """An engine over one private in-memory database."""
    return create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)


def _private() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def _copy(path: Path) -> sqlite3.Connection:
    """Return the database as of one moment, in memory, with what stands in its write-ahead log."""
    log = path.with_name(f"{path.name}-wal")
    for _ in range(20):
        if _has_bytes(log):
            break
        before = path.stat()
        image = path.read_bytes()
        after = path.stat()
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and not _has_bytes(log):
            return _loaded(image)
    return _beside_writer(path) or _merged(path, log)


def _has_bytes(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _loaded(image: bytes) -> sqlite3.Connection:
    memory = _private()
    if image:
        # Bytes 18 and 19 say "write-ahead log"; an in-memory database has none.
        memory.deserialize(image[:18] + b"\x01\x01" + image[20:])
    return memory


def _beside_writer(path: Path) -> sqlite3.Connection | None:
    """Copy beside a running writer, whose shared-memory file already exists; `None` when that is not possible."""
    if not path.with_name(f"{path.name}-shm").exists():
        return None
    memory = _private()
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as source:
            source.backup(memory)
    except sqlite3.Error:
        return None
    return memory


def _merged(path: Path, log: Path) -> sqlite3.Connection:
    """Copy file and log aside and let SQLite put them together there: the original directory is not touched."""
    memory = _private()
    with tempfile.TemporaryDirectory(prefix="rivet-state-") as folder:
        copy = Path(folder) / "state.db"
        shutil.copyfile(path, copy)
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(log, copy.with_name("state.db-wal"))
        with contextlib.closing(sqlite3.connect(copy)) as source:
            source.backup(memory)
    return memory
