"""Copies of a state in memory: one moment of it, to be read without touching a byte of the original."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from pathlib import Path

from sqlalchemy import Engine, MetaData, create_engine, insert, select
from sqlalchemy.pool import StaticPool

from rivet_core.state.models import METADATA


def in_memory(connection: sqlite3.Connection | None = None) -> Engine:
    """Return an engine over one private in-memory database, an empty one where none is given."""
    held = connection or _private()
    return create_engine("sqlite://", creator=lambda: held, poolclass=StaticPool)


def copy_server(source: Engine) -> Engine:
    """Copy the state's tables out of a server, with the columns that they have there, whatever their version."""
    found = MetaData()
    engine = in_memory()
    with source.connect() as reading, engine.begin() as writing:
        found.reflect(reading, only=lambda name, _: name in METADATA.tables)
        for table in found.sorted_tables:
            for column in table.columns:
                column.server_default = None  # a sequence of the server
            table.create(writing)
            rows = [dict(row._mapping) for row in reading.execute(select(table))]
            if rows:
                writing.execute(insert(table), rows)
    return engine


def _private() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def copy_file(path: Path) -> sqlite3.Connection:
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
