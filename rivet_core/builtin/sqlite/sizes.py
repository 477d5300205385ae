"""How many rows and bytes each b-tree holds: what SQLite counts itself, and what it only estimates.

Three signals, best first. `dbstat` walks the pages and counts cells, so it is exact, but it reads the whole file: it is
asked only for files up to `DBSTAT_BYTES`. `sqlite_stat1` is what the last ANALYZE saw; its age is unknown. The span of
the rowids (both ends of the table's b-tree, two page walks) is an upper bound: there are at most that many rows.
"""

# Identifiers are quoted by the dialect, values are bound.
# ruff: noqa: S608

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rivet_core.builtin.sqlite.connection import Connection
from rivet_core.builtin.sqlite.schema import Schema, Table
from rivet_core.sql.dialect import SQLITE

DBSTAT_BYTES = 256 << 20
"""Files up to this size are walked: about 0.2 s of reading what the system has cached."""

SPAN_TABLES = 2000
"""Tables whose rowid span is asked in one statement; SQLite's time to compile it grows with the square."""

SMALLEST_ROW_BYTES = 6
"""A cell in a leaf page takes at least 4 bytes and its pointer 2: no file holds more rows than that."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What `dbstat` counts for one b-tree: rows, bytes of all its pages and of those in overflow pages, payload bytes."""

    rows: int
    bytes: int
    overflow: int
    payload: int


@dataclass(frozen=True, slots=True)
class IndexStatistics:
    """One row of `sqlite_stat1`: rows when ANALYZE ran, and rows per distinct value of the index's first column."""

    rows: int
    rows_per_value: int | None


@dataclass(slots=True)
class Sizes:
    """Every size signal of a database. `trees` is empty when the file was not walked; `spans` are rowid upper bounds."""

    file_bytes: int
    trees: dict[str, Tree] = field(default_factory=dict)
    statistics: dict[str, dict[str, IndexStatistics]] = field(default_factory=dict)
    spans: dict[str, int] = field(default_factory=dict)

    def statistics_rows(self, table: Table) -> int | None:
        """Return the rows that ANALYZE counted; a partial index counts fewer, so it does not speak for the table."""
        partial = {index.name for index in table.indexes if index.partial}
        found = self.statistics.get(table.relation.name, {})
        return next((entry.rows for index, entry in found.items() if index not in partial), None)


def measure(connection: Connection, schema: Schema, tables: Mapping[str, Table]) -> Sizes:
    """Return the size signals of `tables`: one statement each for the file, `dbstat`, `sqlite_stat1` and the spans."""
    pages, page_bytes = connection.execute("SELECT page_count, page_size FROM pragma_page_count, pragma_page_size").fetchone()
    sizes = Sizes(file_bytes=pages * page_bytes)
    if sizes.file_bytes <= DBSTAT_BYTES:
        sizes.trees = walk(connection)
    if "sqlite_stat1" in schema.owners:
        for table, index, stat in connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1").fetchall():
            if (entry := _statistics(stat)) is not None:
                sizes.statistics.setdefault(table, {})[index or ""] = entry
    unknown = [table for table in tables.values() if table.rowid and table.relation.name not in sizes.trees]
    for start in range(0, len(unknown), SPAN_TABLES):
        sizes.spans |= _spans(connection, unknown[start : start + SPAN_TABLES], sizes.file_bytes)
    return sizes


def walk(connection: Connection, tree: str | None = None) -> dict[str, Tree]:
    """Return what `dbstat` counts for every b-tree, or for one; nothing when this build of SQLite has no `dbstat`.

    A rowid table keeps its rows in the leaves; in an index and in a WITHOUT ROWID table interior pages hold entries too.
    An interior page of a table has no payload, which tells the two apart.
    """
    condition, values = (" WHERE name = ?", (tree,)) if tree is not None else ("", ())
    try:
        rows = connection.execute(
            "SELECT name, sum(CASE WHEN pagetype = 'leaf' OR payload > 0 THEN ncell ELSE 0 END), sum(pgsize),"
            " sum(CASE WHEN pagetype = 'overflow' THEN pgsize ELSE 0 END), sum(payload)"
            f" FROM dbstat{condition} GROUP BY name",
            values,
        ).fetchall()
    except sqlite3.OperationalError as error:
        if "dbstat" in str(error):
            return {}
        raise
    return {name: Tree(cells or 0, size or 0, overflow or 0, payload or 0) for name, cells, size, overflow, payload in rows}


def _statistics(stat: str | None) -> IndexStatistics | None:
    numbers = [int(word) for word in (stat or "").split() if word.isdigit()]
    if not numbers:
        return None
    return IndexStatistics(numbers[0], numbers[1] if len(numbers) > 1 else None)


def _spans(connection: Connection, tables: Sequence[Table], file_bytes: int) -> dict[str, int]:
    probes = []
    for table in tables:
        name, rowid = SQLITE.quote(table.relation.name), SQLITE.quote(table.rowid)
        ends = ", ".join(f"(SELECT {end}({rowid}) FROM {name})" for end in ("min", "max"))
        probes.append(f"({SQLITE.string(table.relation.name)}, {ends})")
    rows = connection.execute(f"VALUES {', '.join(probes)}").fetchall()
    bound = file_bytes // SMALLEST_ROW_BYTES
    return {name: 0 if high is None else min(high - low + 1, bound) for name, low, high in rows}
