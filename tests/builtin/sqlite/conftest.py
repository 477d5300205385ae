"""Small databases made by the standard library, and a session on each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rivet_core.builtin.sqlite.session import SqliteSession


@pytest.fixture
def database(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a database from a script (and rows to insert) and returns its path."""

    def build(script: str, *rows: tuple[str, list[tuple[object, ...]]], name: str = "source.db") -> Path:
        path = tmp_path / name
        connection = sqlite3.connect(path)
        try:
            connection.executescript(script)
            for statement, values in rows:
                connection.executemany(statement, values)
            connection.commit()
        finally:
            connection.close()
        return path

    return build


@pytest.fixture
def open_session() -> Iterator[Callable[[Path], SqliteSession]]:
    """Return a function that opens a session; every session is closed at the end."""
    opened: list[SqliteSession] = []

    def connect(path: Path) -> SqliteSession:
        session = SqliteSession(path)
        opened.append(session)
        return session

    yield connect
    for session in opened:
        session.close()
