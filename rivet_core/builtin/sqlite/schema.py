"""The schema of an SQLite database as SQLite tells it: relations, columns and indexes, for many tables in few statements.

Only `sqlite_master` and the pragma table-valued functions are asked; no table is opened. Works with SQLite 3.16 and later.
"""

# Identifiers are quoted by the dialect, values are bound.
# ruff: noqa: S608

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rivet_core.builtin.sqlite.connection import Connection

_VARIABLES = 900
"""Bound values that any build of SQLite accepts in one statement; with more names the statement is not narrowed."""

_STRICT = re.compile(r"\)[^)]*\bSTRICT\b[^)]*\Z", re.IGNORECASE)
_DESCRIBE = "rivet describes this"


@dataclass(frozen=True, slots=True)
class Relation:
    """One row of `sqlite_master` for a table or view. `kind` is `table`, `virtual` or `view`."""

    name: str
    kind: str
    root: int
    sql: str

    @property
    def strict(self) -> bool:
        """Whether it is a STRICT table."""
        return bool(_STRICT.search(self.sql))

    @property
    def collates(self) -> bool:
        """Whether a COLLATE clause stands in its definition, so that text may not compare byte by byte."""
        return "collate" in self.sql.lower()


@dataclass(frozen=True, slots=True)
class Column:
    """One visible column. `declared` is the type as written, `key` its place in the primary key from 1, or 0."""

    name: str
    declared: str
    not_null: bool = False
    default: str | None = None
    key: int = 0
    generated: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """One index: key columns (an expression as empty text) and their collations. `origin` is `c`, `u` or `pk`."""

    name: str
    unique: bool
    origin: str
    partial: bool
    columns: tuple[str, ...]
    collations: tuple[str, ...]
    stored: bool
    """Whether it is a b-tree of its own: false for the primary key of a WITHOUT ROWID table, which is the table."""


@dataclass(frozen=True)
class Table:
    """A relation with its columns and indexes."""

    relation: Relation
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] = ()

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The primary key's columns in its order."""
        keyed = sorted((column for column in self.columns if column.key), key=lambda column: column.key)
        return tuple(column.name for column in keyed)

    @cached_property
    def without_rowid(self) -> bool:
        """Whether the primary key is the table's own b-tree."""
        return any(index.origin == "pk" and not index.stored for index in self.indexes)

    @cached_property
    def rowid_alias(self) -> str:
        """The INTEGER PRIMARY KEY column, which is the rowid itself; empty when there is none."""
        if len(self.key) != 1 or any(index.origin == "pk" for index in self.indexes):
            return ""
        return self.key[0]

    @cached_property
    def rowid(self) -> str:
        """A name that reaches the rowid: the alias, else the first of its three names that no column hides; or empty."""
        if self.relation.kind != "table" or self.without_rowid:
            return ""
        taken = {column.name.lower() for column in self.columns}
        return self.rowid_alias or next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), "")

    def nullable(self, column: Column) -> bool:
        """Whether it can hold NULL: SQLite lets NULL into an ordinary primary key."""
        if column.not_null or column.name == self.rowid_alias:
            return False
        return not (column.key and (self.without_rowid or self.relation.strict))


@dataclass(slots=True)
class Schema:
    """Every relation of the database, and the b-tree of each root page."""

    relations: dict[str, Relation] = field(default_factory=dict)
    roots: dict[int, str] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    """B-tree name -> the table it belongs to."""
    folded: dict[str, str] = field(default_factory=dict)
    """Lower-case name -> name: SQLite keeps no two names that differ only by case."""

    @property
    def one_table(self) -> bool:
        """Whether there is one ordinary table, so that the file's size is its size."""
        return sum(found.kind == "table" and not found.name.startswith("sqlite_") for found in self.relations.values()) == 1

    @property
    def everything(self) -> list[str]:
        """Every table and view that is somebody's own: not SQLite's, and not what a virtual table keeps its content in."""
        virtual = tuple(f"{found.name}_" for found in self.relations.values() if found.kind == "virtual")
        shadows = [name for name in self.relations if virtual and name.startswith(virtual)]
        return sorted(name for name in self.relations if not name.startswith("sqlite_") and name not in shadows)

    def find(self, written: str) -> Relation | None:
        """Return what a config's table text names: exactly, else without `main.` and quotes, else whatever the case."""
        names = (written, _bare(written))
        exact = next((self.relations[name] for name in names if name in self.relations), None)
        if exact is not None:
            return exact
        return next((self.relations[self.folded[name.lower()]] for name in names if name.lower() in self.folded), None)


def _bare(written: str) -> str:
    name = written[5:] if written[:5].lower() == "main." else written
    for opening, closing in ('""', "``", "[]"):
        if len(name) > 2 and name.startswith(opening) and name.endswith(closing):
            return name[1:-1].replace(closing * 2, closing)
    return name


def read_schema(connection: Connection) -> Schema:
    """Return all relations, in one statement."""
    schema = Schema()
    rows = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master").fetchall()
    for kind, name, table, root, sql in rows:
        if root:
            schema.roots[root] = name
            schema.owners[name] = table
        if kind in ("table", "view"):
            virtual = kind == "table" and not root
            schema.folded[name.lower()] = name
            schema.relations[name] = Relation(name, "virtual" if virtual else kind, root or 0, sql or "")
    return schema


def schema_now(connection: Connection) -> Schema:
    """Return the schema, read again only when it changed: a thousand exports of one file must not read it a thousand times."""
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    if connection.schema is None or connection.schema[0] != version:
        connection.schema = (version, read_schema(connection))
    found: Schema = connection.schema[1]
    return found


def read_tables(connection: Connection, schema: Schema, relations: Sequence[Relation]) -> dict[str, Table]:
    """Return columns and indexes of all ordinary tables among `relations`, in two statements whatever their number."""
    wanted = {relation.name: relation for relation in relations if relation.kind == "table"}
    if not wanted:
        return {}
    condition, values = _narrowed(list(wanted))
    columns: dict[str, list[Column]] = defaultdict(list)
    rows: Iterable[tuple[Any, ...]] = connection.execute(
        'SELECT m.name, x.name, x.type, x."notnull", x.dflt_value, x.pk, x.hidden'
        " FROM sqlite_master AS m CROSS JOIN pragma_table_xinfo(m.name) AS x"
        f" WHERE m.type = 'table' AND m.rootpage > 0{condition}",
        values,
    )
    for table, *row in rows:
        if table in wanted and (column := _column(*row)):
            columns[table].append(column)
    indexes: dict[str, dict[str, list[tuple[Any, ...]]]] = defaultdict(lambda: defaultdict(list))
    rows = connection.execute(
        'SELECT m.name, l.name, l."unique", l.origin, l.partial, x.cid, x.name, x.coll'
        " FROM sqlite_master AS m CROSS JOIN pragma_index_list(m.name) AS l CROSS JOIN pragma_index_xinfo(l.name) AS x"
        f" WHERE m.type = 'table' AND m.rootpage > 0 AND x.key = 1{condition} ORDER BY m.name, l.seq, x.seqno",
        values,
    )
    for table, index, *row in rows:
        if table in wanted:
            indexes[table][index].append(tuple(row))
    return {
        name: Table(
            relation,
            tuple(columns[name]),
            tuple(_index(index, parts, stored=index in schema.owners) for index, parts in indexes[name].items()),
        )
        for name, relation in wanted.items()
    }


def _narrowed(names: Sequence[str]) -> tuple[str, Sequence[str]]:
    if len(names) > _VARIABLES:
        return "", ()
    return f" AND m.name IN ({', '.join('?' * len(names))})", names


def _column(name: str, declared: str, not_null: int, default: str | None, key: int, hidden: int) -> Column | None:
    if hidden == 1:
        return None
    return Column(name, declared or "", bool(not_null), default, key, {2: "virtual", 3: "stored"}.get(hidden, ""))


def _index(name: str, parts: Sequence[tuple[Any, ...]], *, stored: bool) -> Index:
    unique, origin, partial = parts[0][:3]
    return Index(
        name=name,
        unique=bool(unique),
        origin=origin,
        partial=bool(partial),
        columns=tuple((part[4] or "") if part[3] >= 0 else "" for part in parts),
        collations=tuple(part[5] or "BINARY" for part in parts),
        stored=stored,
    )


def describe_relation(connection: Connection, relation: Relation, select: str) -> Table:
    """Return a view or virtual table as `SELECT * FROM it` describes itself. Raises `sqlite3.Error` when it cannot be read."""
    return Table(relation, describe_select(connection, select))


def describe_select(connection: Connection, select: str) -> tuple[Column, ...]:
    """Return the columns of a SELECT with their declared types, without reading a row.

    SQLite shows declared types only for things in a schema, so the SELECT becomes a temporary view for a moment, and a
    temporary table for the affinity of columns that are expressions (`CAST(x AS INTEGER)`). Both live in the connection's
    own temporary schema; the file stays closed to writing.
    """
    view, table = f'temp."{_DESCRIBE} (view)"', f'temp."{_DESCRIBE} (table)"'
    connection.execute("PRAGMA query_only = OFF").close()
    try:
        connection.execute(f'CREATE TEMP VIEW "{_DESCRIBE} (view)" AS\n{select}').close()
        try:
            declared = _xinfo(connection, f"{_DESCRIBE} (view)")
        finally:
            connection.execute(f"DROP VIEW {view}").close()
        if all(kind for _, kind in declared):
            return tuple(Column(name, kind) for name, kind in declared)
        connection.execute(f'CREATE TEMP TABLE "{_DESCRIBE} (table)" AS\nSELECT * FROM (\n{select}\n) LIMIT 0').close()
        try:
            inferred = _xinfo(connection, f"{_DESCRIBE} (table)")
        finally:
            connection.execute(f"DROP TABLE {table}").close()
    finally:
        connection.execute("PRAGMA query_only = ON").close()
    # The two lists are one SELECT's columns in order; a name given twice is told apart by the inner SELECT (`id:1`).
    return tuple(Column(name, kind or guess) for (name, guess), (_, kind) in zip(inferred, declared, strict=True))


def _xinfo(connection: Connection, name: str) -> list[tuple[str, str]]:
    return connection.execute("SELECT name, type FROM pragma_table_xinfo(?)", (name,)).fetchall()
