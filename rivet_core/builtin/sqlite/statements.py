"""The SELECT of one unit, with bounds as bound values: a literal could lose the last bit of a float."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rivet_core.builtin.sqlite.cursor import value_of
from rivet_core.builtin.sqlite.types import Reading
from rivet_core.facts import ColumnFacts, ReadSpec, TableFacts, TypeKind, Unit
from rivet_core.sql.dialect import SQLITE, Dialect
from rivet_core.sql.querytext import ALIAS, derived_table
from rivet_core.sql.select import KeyTypes, SelectItem, select_unit

BLOB_OF_TEXT = "CASE typeof({}) WHEN 'text' THEN CAST({} AS BLOB) ELSE {} END"
"""A column read as binary by override: text gives its bytes, any other class stays what it is and is refused."""


@dataclass(frozen=True, slots=True)
class BoundDialect(Dialect):
    """SQLite's spelling where every literal is a numbered parameter; `values` collects what to bind."""

    values: list[int | float | str] = field(default_factory=list)

    def literal(self, kind: TypeKind, value: str, source_type: str = "") -> str:
        """Return `?n` and keep the value."""
        self.values.append(value_of(kind, value))
        return f"?{len(self.values)}"


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL and what to bind to its parameters."""

    sql: str
    values: tuple[int | float | str, ...]


def from_item(spec: ReadSpec, facts: TableFacts) -> str:
    """Return what to select from, as `select_unit` takes it."""
    if spec.query is not None:
        return derived_table(SQLITE, spec.query, ALIAS)
    return SQLITE.quote(facts.relation)


def aliased(source: str) -> str:
    """Return the FROM item with the alias that `select_unit` gives it."""
    return source if source.startswith("(") else f"{source} AS {ALIAS}"


def unit_statement(
    spec: ReadSpec, unit: Unit, facts: TableFacts, source: str, columns: Sequence[ColumnFacts], readings: Sequence[Reading]
) -> Statement:
    """Return the statement that reads `columns` of the unit."""
    dialect = BoundDialect("sqlite")
    items = [
        SelectItem(
            name=column.name, expression=BLOB_OF_TEXT if how.storage == ("blob",) and column.name in spec.overrides else ""
        )
        for column, how in zip(columns, readings, strict=True)
    ]
    keys = KeyTypes.of(facts.columns)
    sql = select_unit(dialect, source=source, items=items, spec=spec, unit=unit, keys=keys)
    return Statement(sql, tuple(dialect.values))
