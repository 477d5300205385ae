"""Finding the row that holds a value its column does not allow, so that the error can name it."""

# Identifiers are quoted by the dialect, values are bound.
# ruff: noqa: S608

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from rivet_core.builtin.sqlite.connection import Connection
from rivet_core.builtin.sqlite.values import BadValue
from rivet_core.sql.dialect import SQLITE

if TYPE_CHECKING:
    from rivet_core.builtin.sqlite.read import Shape

SEARCH_SECONDS = 10.0
"""How long the search for a row's name may take; without one the error still names table and column."""


def name_row(connection: Connection, shape: Shape, column: str, bad: BadValue, row: list[Any] | None) -> str:
    """Return `row id=17` by the key if it was read, else `rowid 17` by looking for the storage class, else `a row`."""
    if row is not None and shape.key:
        places = {found.name: place for place, found in enumerate(shape.columns)}
        if all(name in places for name in shape.key):
            return "row " + ", ".join(f"{name}={row[places[name]]!r}" for name in shape.key)
    if not shape.rowid:
        return "a row"
    source, quoted, rowid = SQLITE.quote(shape.relation), SQLITE.quote(column), SQLITE.quote(shape.rowid)
    try:
        connection.limit_statement(SEARCH_SECONDS)
        if bad.classes:
            marks = ", ".join("?" * len(bad.classes))
            found = connection.execute(
                f"SELECT {rowid} FROM {source} WHERE typeof({quoted}) IN ({marks}) LIMIT 1", bad.classes
            ).fetchone()
        else:
            found = _undecodable(
                connection, f"SELECT {rowid}, CAST({quoted} AS BLOB) FROM {source} WHERE typeof({quoted}) = 'text'"
            )
    except sqlite3.Error:
        return "a row"
    return f"rowid {found[0]}" if found else "a row"


def _undecodable(connection: Connection, select: str) -> tuple[Any, ...] | None:
    for rowid, data in connection.execute(select):
        try:
            bytes(data).decode("utf-8")
        except UnicodeDecodeError:
            return (rowid,)
    return None
