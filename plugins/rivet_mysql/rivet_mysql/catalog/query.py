"""A query's columns, without running it."""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rivet_core.errors import RivetError
from rivet_core.facts import ColumnFacts, InspectItem, RelationKind, TableFacts
from rivet_core.sql.querytext import derived_table
from rivet_mysql.connection import Link, text
from rivet_mysql.dialect import MYSQL
from rivet_mysql.types import Declared, declared_from_protocol, reading

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
    """Return what a query is, without running it. What is wrong with it is its problem."""
    try:
        columns = query_columns(describe_query(link, item.query or "", f"describing {item.name}"))
    except RivetError as error:
        return TableFacts(name=item.name, kind=RelationKind.QUERY, problem=error.message, remedy=error.hint)
    return TableFacts(name=item.name, kind=RelationKind.QUERY, columns=columns)
