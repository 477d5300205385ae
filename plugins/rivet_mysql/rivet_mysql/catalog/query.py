"""A query's columns without running it, and what the optimizer thinks of it."""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rivet_core.errors import RivetError
from rivet_core.facts import Basis, ColumnFacts, Evidence, InspectItem, RelationKind, TableFacts
from rivet_core.sql.querytext import derived_table
from rivet_mysql.connection import Link, text
from rivet_mysql.dialect import MYSQL
from rivet_mysql.types import Declared, declared_from_protocol, reading

QUALITY_EXPLAIN = 20
_NOT_NULL = 1


def describe_query(link: Link, query: str, doing: str) -> list[tuple[str, Declared, bool]]:
    """Return name, type and nullability of each column, from an answer of no rows. Raises `SourceError`, `ConfigError`."""
    fields, _ = link.described(f"SELECT * FROM {derived_table(MYSQL, query)} LIMIT 0", doing=doing)
    return [_described(field) for field in fields]


def _described(field: Any) -> tuple[str, Declared, bool]:
    declared = declared_from_protocol(field.type_code, field.flags, field.length, field.scale, field.charsetnr)
    return text(field.name), declared, not field.flags & _NOT_NULL


def query_columns(described: Sequence[tuple[str, Declared, bool]]) -> tuple[ColumnFacts, ...]:
    """Return the columns as facts."""
    found = []
    for name, declared, nullable in described:
        how = reading(declared)
        found.append(
            ColumnFacts(
                name=name,
                source_type=declared.text,
                kind=how.kind,
                nullable=nullable,
                precision=declared.scale if declared.base in ("datetime", "timestamp", "time") else None,
                fidelity=how.fidelity,
                fidelity_note=how.note,
                arrow_type=how.arrow,
            )
        )
    return tuple(found)


def query_facts(link: Link, item: InspectItem) -> TableFacts:
    """Return the facts of a query: two statements, neither of which runs it. What is wrong with it is its problem."""
    query = item.query or ""
    try:
        columns = query_columns(describe_query(link, query, f"describing {item.name}"))
        plan = link.rows(f"EXPLAIN FORMAT=JSON SELECT * FROM {derived_table(MYSQL, query)}", doing=f"explaining {item.name}")
    except RivetError as error:
        return TableFacts(name=item.name, kind=RelationKind.QUERY, problem=error.message, remedy=error.hint)
    tables = list(_tables(json.loads(text(plan[0][0])))) if plan else []
    return TableFacts(
        name=item.name,
        kind=RelationKind.QUERY,
        columns=columns,
        rows=_guess(tables),
        notes=("rows are the optimizer's guess",) if tables else (),
    )


def _tables(node: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every table of an EXPLAIN, nested ones included."""
    if isinstance(node, dict):
        if "table_name" in node:
            yield node
        for child in node.values():
            yield from _tables(child)
    elif isinstance(node, list):
        for child in node:
            yield from _tables(child)


def _guess(tables: Sequence[Mapping[str, Any]]) -> tuple[Evidence, ...]:
    rows = 1.0
    known = False
    for table in tables:
        if str(table["table_name"]).startswith("<"):
            continue  # a derived table: its own tables are listed too
        examined = table.get("rows_produced_per_join") or table.get("rows") or table.get("rows_examined_per_scan")
        if isinstance(examined, int | float):
            known = True
            rows = (
                float(examined)
                if "rows_produced_per_join" in table
                else rows * examined * float(table.get("filtered", 100)) / 100
            )
    if not known:
        return ()
    return (
        Evidence(
            signal="table_rows",
            value=round(rows),
            unit="rows",
            source="EXPLAIN",
            observed_at=None,
            quality=QUALITY_EXPLAIN,
            basis=Basis.STATISTICS,
        ),
    )
