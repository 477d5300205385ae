"""What a SELECT would read: which b-trees it scans from end to end, and whether a range on a column can use an index."""

# Identifiers are quoted by the dialect, values are bound.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.sqlite.connection import Connection
from rivet_core.builtin.sqlite.schema import Schema
from rivet_core.builtin.sqlite.sizes import Sizes
from rivet_core.sql.dialect import SQLITE

_OPEN = "OpenRead"
_OPEN_VIRTUAL = "VOpen"
_MAIN = 0


def touched_trees(connection: Connection, schema: Schema, select: str) -> frozenset[str] | None:
    """Return the tables and indexes that the SELECT opens, by name; `None` when a virtual table is among them.

    Read from the compiled program and not from EXPLAIN QUERY PLAN, which shows only the alias that the query gave a table.
    """
    program = connection.execute(f"EXPLAIN {select}").fetchall()
    if any(opcode == _OPEN_VIRTUAL for _, opcode, *_rest in program):
        return None
    return frozenset(
        schema.roots[root]
        for _, opcode, _, root, database, *_ in program
        if opcode == _OPEN and database == _MAIN and root in schema.roots
    )


def scanned_bytes(connection: Connection, schema: Schema, sizes: Sizes, select: str) -> int | None:
    """Return an upper bound of the bytes that the SELECT reads: all of every b-tree it opens.

    SQLite does not say which share of an index a range takes. `None` when one of them is of unknown size.
    """
    touched = touched_trees(connection, schema, select)
    if touched is None or any(name not in sizes.trees for name in touched):
        return None
    return sum(sizes.trees[name].bytes for name in touched)


def range_uses_index(connection: Connection, source: str, column: str) -> bool:
    """Whether `source` (a FROM item) with a lower bound on `column` is searched by it: the plan then has one range more."""
    plain = _ranges(connection, f"SELECT * FROM {source}")
    bounded = _ranges(connection, f"SELECT * FROM {source} WHERE {SQLITE.quote(column)} > ?1", (0,))
    return bounded > plain


def _ranges(connection: Connection, select: str, values: Sequence[object] = ()) -> int:
    steps = connection.execute(f"EXPLAIN QUERY PLAN {select}", values).fetchall()
    return sum(str(step[3]).count(">?") for step in steps)
