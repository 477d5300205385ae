"""A unit of an export as one SELECT: its columns, its rows, and the order a cursor needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rivet_core.errors import ConfigError
from rivet_core.facts import ColumnFacts, Mark, Mode, ReadSpec, TypeKind, Unit, UnitKind
from rivet_core.sql.dialect import Dialect
from rivet_core.sql.querytext import ALIAS


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectItem:
    """One output column: its name, and how it is computed when it is not the column itself.

    `{}` in `expression` stands for the quoted column, so that a type table can say `{}::text`; `column` is the column read
    when it has another name than the output; `verbatim` is SQL taken as it stands instead of both.
    """

    name: str
    expression: str = ""
    column: str = ""
    verbatim: str = ""

    def sql(self, dialect: Dialect) -> str:
        """Return `expression AS name`."""
        name = dialect.quote(self.name)
        if self.verbatim:
            return f"{self.verbatim} AS {name}"
        column = f"{ALIAS}.{dialect.quote(self.column or self.name)}"
        if not self.expression:
            return f"{column} AS {name}" if self.column else column
        return f"{self.expression.replace('{}', column)} AS {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTypes:
    """Kind and source type of the key columns of a unit, by column name; a coalesce cursor has its primary column's."""

    kinds: Mapping[str, TypeKind]
    types: Mapping[str, str]

    @classmethod
    def of(cls, columns: Sequence[ColumnFacts]) -> KeyTypes:
        """Return those of all columns of a table."""
        return cls(kinds={one.name: one.kind for one in columns}, types={one.name: one.source_type for one in columns})


def select_unit(
    dialect: Dialect,
    *,
    source: str,
    items: Sequence[SelectItem],
    spec: ReadSpec,
    unit: Unit,
    keys: KeyTypes,
    limit: int | None = None,
) -> str:
    """Return the SELECT of one unit.

    `source` is the FROM item without its alias for a table (`"s"."t"`, `ONLY "s"."t"`) or a derived table with its own
    (`querytext.derived_table`, aliased `ALIAS`). Cursor units are ordered by their cursor, so that the last row is the mark.
    """
    source = source if source.startswith("(") else f"{source} AS {ALIAS}"
    columns = ", ".join(item.sql(dialect) for item in items)
    parts = [f"SELECT {columns}", f"FROM {source}"]
    conditions = where_unit(dialect, spec=spec, unit=unit, keys=keys)
    if conditions:
        parts.append("WHERE " + " AND ".join(conditions))
    if unit.kind is UnitKind.CURSOR:
        parts.append("ORDER BY " + ", ".join(key_expressions(dialect, spec, unit)))
    if limit is not None:
        parts.append(f"LIMIT {int(limit)}")
    return "\n".join(parts)


def select_page(
    dialect: Dialect,
    *,
    source: str,
    items: Sequence[SelectItem],
    spec: ReadSpec,
    unit: Unit,
    keys: KeyTypes,
    key: Sequence[str],
    after: Sequence[Mark] = (),
    upto: Sequence[Mark] = (),
    limit: int,
    descending: bool = False,
) -> str:
    """Return one page of a unit in the order of a unique not-null `key`: the next `limit` rows past `after`, none past `upto`.

    `after` takes the place of the unit's lower bound, since it lies inside the unit. `descending` gives the unit's end first.
    """
    source = source if source.startswith("(") else f"{source} AS {ALIAS}"
    expressions = [f"{ALIAS}.{dialect.quote(name)}" for name in key]
    bounds = replace(unit, lower=()) if after else unit
    conditions = where_unit(dialect, spec=spec, unit=bounds, keys=keys) if unit.columns else []
    for marks, operator in ((after, ">"), (upto, "<=")):
        if marks:
            literals = [dialect.literal(keys.kinds[mark.column], mark.value, keys.types[mark.column]) for mark in marks]
            conditions.append(dialect.compare(expressions, operator, literals))
    where = [f"WHERE {' AND '.join(conditions)}"] if conditions else []
    order = ", ".join(f"{expression} DESC" if descending else expression for expression in expressions)
    columns = ", ".join(item.sql(dialect) for item in items)
    return "\n".join([f"SELECT {columns}", f"FROM {source}", *where, f"ORDER BY {order}", f"LIMIT {int(limit)}"])


def where_unit(dialect: Dialect, *, spec: ReadSpec, unit: Unit, keys: KeyTypes) -> list[str]:
    """Return the conditions that select exactly the rows of `unit`, to be joined by AND."""
    if unit.kind is UnitKind.WHOLE:
        return []
    expressions = key_expressions(dialect, spec, unit)
    cursor = unit.kind is UnitKind.CURSOR or (unit.kind is UnitKind.NULLS and spec.mode is Mode.INCREMENTAL)
    outside = dialect.outside_time(keys.kinds[unit.columns[0]], spec.out_of_range or "") if cursor else None
    if unit.kind is UnitKind.NULLS:
        terms = [f"{expression} IS NULL" for expression in expressions]
        terms += [outside[1].replace("{}", expressions[0])] if outside else []
        return [f"({' OR '.join(terms)})"]
    conditions = []
    if unit.kind is UnitKind.CURSOR and not unit.lower:
        conditions.append(f"{expressions[0]} IS NOT NULL")
    if outside:
        conditions.append(outside[0].replace("{}", expressions[0]))
    for bound, operator in (
        (unit.lower, ">=" if unit.lower_inclusive else ">"),
        (unit.upper, "<=" if unit.upper_inclusive else "<"),
    ):
        if bound:
            literals = _literals(dialect, spec, unit, keys, bound)
            conditions.append(dialect.compare(expressions[: len(bound)], operator, literals))
    return conditions


def key_expressions(dialect: Dialect, spec: ReadSpec, unit: Unit) -> list[str]:
    """Return the SQL of a unit's keys, one for each position a mark can have."""
    columns = [f"{ALIAS}.{dialect.quote(name)}" for name in unit.columns]
    if is_coalesce(spec, unit):
        return [f"COALESCE({columns[0]}, {columns[1]})", *columns[2:]]
    return columns


def is_coalesce(spec: ReadSpec, unit: Unit) -> bool:
    """Whether the first two columns of the unit count as one cursor."""
    return (
        spec.cursor_mode == "coalesce"
        and unit.kind in (UnitKind.CURSOR, UnitKind.NULLS)
        and unit.columns[:2] == spec.cursor[:2]
    )


def _literals(dialect: Dialect, spec: ReadSpec, unit: Unit, keys: KeyTypes, bound: Sequence[Mark]) -> list[str]:
    skipped = 1 if is_coalesce(spec, unit) else 0
    literals = []
    for position, mark in enumerate(bound):
        name = unit.columns[position + skipped if position else 0]
        if mark.type != keys.types[name]:
            raise ConfigError(
                f"{spec.export}: a bound of unit {unit.index} is a {mark.type}, the column {name} is now {keys.types[name]}",
                hint="plan again",
            )
        literals.append(dialect.literal(keys.kinds[name], mark.value, keys.types[name]))
    return literals
