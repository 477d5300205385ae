"""From SQLite's own schema to the facts that planning judges: all asked relations at once."""

# Identifiers are quoted by the dialect, values are bound.
# ruff: noqa: S608

from __future__ import annotations

import difflib
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from rivet_core.builtin.sqlite import explain
from rivet_core.builtin.sqlite.connection import Connection
from rivet_core.builtin.sqlite.schema import (
    Column,
    Relation,
    Schema,
    Table,
    describe_relation,
    describe_select,
    read_schema,
    read_tables,
    schema_now,
)
from rivet_core.builtin.sqlite.sizes import Sizes, measure
from rivet_core.builtin.sqlite.types import Affinity, affinity, reading
from rivet_core.errors import RivetError
from rivet_core.facts import (
    Basis,
    CatalogFacts,
    ColumnFacts,
    Evidence,
    IndexFacts,
    InspectItem,
    RelationKind,
    ServerFacts,
    TableFacts,
)
from rivet_core.sql.dialect import SQLITE
from rivet_core.sql.querytext import ALIAS, derived_table, statement

STATEMENT_SECONDS = 30.0
"""How long one statement of an inspection may take."""

QUALITY_WALKED = 95
QUALITY_STATISTICS = 50
QUALITY_SPAN = 45
QUALITY_FILE = 80
QUALITY_EXPLAIN = 60

NO_KEY = "no primary key: the hidden rowid orders its rows, but VACUUM may renumber it, so no cursor is tied to it"
UPPER_BOUND = "rows are an upper bound from the two ends of the rowid; run ANALYZE for an estimate"


@dataclass(frozen=True, slots=True)
class Reader:
    """One inspection: the connection, what the schema says, the sizes, and when it was looked."""

    connection: Connection
    schema: Schema
    sizes: Sizes
    tables: Mapping[str, Table]
    observed_at: datetime
    one_table: bool = False


def server_facts(connection: Connection, observed_at: datetime) -> ServerFacts:
    """Return what there is to know about the engine; a file has no role, no sessions and no replicas."""
    return ServerFacts(
        engine="sqlite",
        version=sqlite3.sqlite_version,
        address=str(connection.path),
        observed_at=observed_at,
        notes=("opened without locks: in WAL mode and not in use",) if connection.immutable else (),
    )


def inspect(connection: Connection, items: Sequence[InspectItem]) -> CatalogFacts:
    """Return the facts of `items`: six statements for all tables together, and two to five more for each view or query.

    No items means every table and view, for `init`.
    """
    begun = time.monotonic()
    observed_at = datetime.now(UTC)
    sent = connection.statements
    connection.limit_statement(STATEMENT_SECONDS)
    schema = read_schema(connection)
    items = items or [InspectItem(name=name, table=name) for name in schema.everything]
    found = {item.name: schema.find(item.table) for item in items if item.table is not None}
    tables = read_tables(connection, schema, list({r.name: r for r in found.values() if r is not None}.values()))
    reader = Reader(connection, schema, measure(connection, schema, tables), tables, observed_at, schema.one_table)
    facts = {item.name: _item(reader, item, found.get(item.name)) for item in items}
    connection.verify()
    return CatalogFacts(
        server=server_facts(connection, observed_at),
        tables=facts,
        statements=connection.statements - sent,
        seconds=time.monotonic() - begun,
    )


def look_up(connection: Connection, *, table: str | None, query: str | None) -> tuple[TableFacts, Table | None]:
    """Return columns and indexes of one relation or query, without sizes: what reading needs to know."""
    connection.limit_statement(STATEMENT_SECONDS)
    now = datetime.now(UTC)
    schema = schema_now(connection) if table is not None else Schema()
    relation = schema.find(table) if table is not None else None
    tables = read_tables(connection, schema, [relation]) if relation else {}
    reader = Reader(connection, schema, Sizes(file_bytes=0), tables, now)
    facts = _item(reader, InspectItem(name=table or "query", table=table, query=query), relation)
    return facts, tables.get(relation.name) if relation else None


def _item(reader: Reader, item: InspectItem, relation: Relation | None) -> TableFacts:
    reader.connection.limit_statement(STATEMENT_SECONDS)
    try:
        if item.query is not None:
            return _query(reader, item, item.query)
        if relation is None:
            return _missing(reader.schema, item)
        if relation.kind != "table":
            return _view(reader, item, relation)
    except (sqlite3.Error, RivetError) as error:
        kind = RelationKind.QUERY if item.query is not None else RelationKind.VIEW
        problem = error if isinstance(error, RivetError) else reader.connection.fault(error, f"describing {item.name}")
        return TableFacts(name=item.name, kind=kind, problem=problem.message, remedy=problem.hint)
    return _table(reader, item, reader.tables[relation.name])


def _missing(schema: Schema, item: InspectItem) -> TableFacts:
    name = item.table or item.name
    near = difflib.get_close_matches(name.removeprefix("main."), schema.relations, n=1, cutoff=0.6)
    known = ", ".join(sorted(schema.relations)[:8]) or "none"
    return TableFacts(
        name=item.name,
        kind=RelationKind.MISSING,
        problem=f"no table or view {name} in the database" + (f"; did you mean {near[0]}?" if near else ""),
        remedy=f"write `table: {near[0]}`" if near else f"its tables are: {known}",
    )


def _table(reader: Reader, item: InspectItem, table: Table) -> TableFacts:
    rows, size = _rows(reader, table), _bytes(reader, table)
    tree = reader.sizes.trees.get(table.relation.name)
    notes = [NO_KEY] if not table.key and table.rowid else []
    if rows and rows[0].signal == "rowid_span":
        notes.append(UPPER_BOUND)
    return TableFacts(
        name=item.name,
        relation=table.relation.name,
        columns=tuple(_column(reader, table, column) for column in table.columns),
        indexes=_indexes(reader, table),
        rows=rows,
        bytes=size,
        out_of_line_bytes=tree.overflow if tree else None,
        avg_width=tree.payload // tree.rows if tree and tree.rows else None,
        notes=tuple(notes),
    )


def _rows(reader: Reader, table: Table) -> tuple[Evidence, ...]:
    name, at = table.relation.name, reader.observed_at
    found = []
    if tree := reader.sizes.trees.get(name):
        found.append(_evidence("table_rows", tree.rows, "rows", "dbstat", at, QUALITY_WALKED, Basis.LIVE))
    statistics = reader.sizes.statistics_rows(table)
    if statistics is not None:
        found.append(_evidence("table_rows", statistics, "rows", "sqlite_stat1", None, QUALITY_STATISTICS, Basis.STATISTICS))
    if (span := reader.sizes.spans.get(name)) is not None:
        # Both ends missing: the table is empty, which is no estimate.
        quality = QUALITY_WALKED if span == 0 else QUALITY_SPAN
        found.append(_evidence("rowid_span", span, "rows", "min and max rowid", at, quality, Basis.LIVE))
    return tuple(found)


def _bytes(reader: Reader, table: Table) -> tuple[Evidence, ...]:
    at = reader.observed_at
    if tree := reader.sizes.trees.get(table.relation.name):
        return (_evidence("table_bytes", tree.bytes, "B", "dbstat", at, QUALITY_WALKED, Basis.LIVE),)
    if reader.one_table and reader.sizes.file_bytes:
        return (_evidence("table_bytes", reader.sizes.file_bytes, "B", "page_count x page_size", at, QUALITY_FILE, Basis.LIVE),)
    return ()


def _evidence(signal: str, value: int, unit: str, source: str, at: datetime | None, quality: int, basis: Basis) -> Evidence:
    return Evidence(signal=signal, value=value, unit=unit, source=source, observed_at=at, quality=quality, basis=basis)


def _column(reader: Reader, table: Table, column: Column) -> ColumnFacts:
    alias = column.name == table.rowid_alias
    generated = column.generated or ("auto_increment" if alias else "default" if column.default is not None else "")
    facts = _described(column, nullable=table.nullable(column), generated=generated)
    rows = reader.sizes.statistics.get(table.relation.name, {})
    leading = [rows.get(index.name) for index in table.indexes if index.columns[:1] == (column.name,) and not index.partial]
    known = next((entry for entry in leading if entry is not None and entry.rows_per_value), None)
    if known is None or not known.rows_per_value:
        return facts
    distinct = -1.0 if known.rows_per_value == 1 else known.rows / known.rows_per_value
    return replace(facts, n_distinct=distinct)


def _described(column: Column, *, nullable: bool = True, generated: str = "") -> ColumnFacts:
    how = reading(column.declared)
    return ColumnFacts(
        name=column.name,
        source_type=column.declared,
        kind=how.kind,
        nullable=nullable,
        default=column.default,
        generated=generated,
        fidelity=how.fidelity,
        fidelity_note=how.note,
        arrow_type=str(how.arrow),
    )


def _indexes(reader: Reader, table: Table) -> tuple[IndexFacts, ...]:
    found = []
    if table.rowid_alias:
        found.append(IndexFacts(name="rowid", columns=table.key, unique=True, primary=True))
    kinds = {column.name: affinity(column.declared) for column in table.columns}
    for index in table.indexes:
        tree = reader.sizes.trees.get(index.name)
        # An index ordered by another collation than BINARY cannot serve a range over text; numbers have only one order.
        numeric = kinds.get(index.columns[0]) in (Affinity.INTEGER, Affinity.REAL)
        other = index.collations[0] != "BINARY" and not numeric
        found.append(
            IndexFacts(
                name=index.name,
                columns=index.columns,
                unique=index.unique,
                primary=index.origin == "pk",
                partial=index.partial,
                method=f"btree collate {index.collations[0].lower()}" if other else "btree",
                size_bytes=tree.bytes if tree else None,
            )
        )
    return tuple(found)


def _view(reader: Reader, item: InspectItem, relation: Relation) -> TableFacts:
    source = SQLITE.quote(relation.name)
    table = describe_relation(reader.connection, relation, f"SELECT * FROM {source}")
    kind = RelationKind.VIEW if relation.kind == "view" else RelationKind.TABLE
    return _selected(reader, item, table.columns, source, kind, relation.name)


def _query(reader: Reader, item: InspectItem, query: str) -> TableFacts:
    columns = describe_select(reader.connection, statement(SQLITE, query))
    return _selected(reader, item, columns, derived_table(SQLITE, query, ALIAS), RelationKind.QUERY, "")


def _selected(
    reader: Reader, item: InspectItem, columns: Sequence[Column], source: str, kind: RelationKind, relation: str
) -> TableFacts:
    names = {column.name for column in columns}
    scan = explain.scanned_bytes(reader.connection, reader.schema, reader.sizes, f"SELECT * FROM {source}")
    work = None
    if scan is not None and reader.sizes.trees:
        work = _evidence("scanned_bytes", scan, "B", "EXPLAIN", reader.observed_at, QUALITY_EXPLAIN, Basis.LIVE)
    return TableFacts(
        name=item.name,
        relation=relation,
        kind=kind,
        columns=tuple(_described(column) for column in columns),
        scan_bytes=work,
        index_for_range={
            name: explain.range_uses_index(reader.connection, source, name) for name in item.columns if name in names
        },
    )
