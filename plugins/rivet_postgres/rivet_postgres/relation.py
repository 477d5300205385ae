"""What one export reads from: the FROM item and its columns, described once per session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import ReadSpec, TypeKind, Unit, UnitKind
from rivet_core.sql.cursor_plan import ORDERED
from rivet_core.sql.querytext import ALIAS, derived_table
from rivet_core.sql.select import KeyTypes, SelectItem, is_coalesce, key_expressions
from rivet_postgres.catalog.columns import NO_COLUMNS, SELECT_SOMETHING, raw_column
from rivet_postgres.catalog.queries import DESCRIBE
from rivet_postgres.catalog.query import describe_query
from rivet_postgres.catalog.transaction import Catalog
from rivet_postgres.columns import ColumnPlan, RawColumn, plan_column
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.names import TableName, parse_name
from rivet_postgres.types import TypeCatalog

HIDDEN = "rivet_mark_"
"""Prefix of columns that are read for the cursor alone and never leave."""
HIDDEN_KEY = "rivet_key_"
"""Prefix of columns that are read for the next page alone."""
_EXACT_KINDS = (TypeKind.INTEGER, TypeKind.UUID, TypeKind.TEXT)
_KEY_KINDS = ORDERED | {TypeKind.TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A FROM item with the columns it has, in order.

    `unique_keys` are the columns of each unique index that orders all its rows without NULLs, the primary key first;
    `primary_key` is the first of them if it is one.
    """

    source: str
    columns: tuple[RawColumn, ...]
    label: str
    unique_keys: tuple[tuple[str, ...], ...] = ()
    primary_key: tuple[str, ...] = ()

    def column(self, name: str) -> RawColumn | None:
        """Return the column of exactly this name."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The columns of one statement: those that leave, then those only the cursor needs; and where its marks are.

    `marks` holds for each cursor position its name, its type and the index of its column among all; `key` the same for each
    column of the key that pages are read along.
    """

    plans: tuple[ColumnPlan, ...]
    items: tuple[SelectItem, ...]
    visible: int
    marks: tuple[tuple[str, str, int], ...]
    key: tuple[tuple[str, str, int], ...] = ()


def describe_query_of(catalog: Catalog, types: TypeCatalog, spec: ReadSpec) -> Relation:
    """Look up what the spec's query gives."""
    with catalog.transaction():
        columns = describe_query(catalog, types, spec.query or "")
        return Relation(source=derived_table(POSTGRES, spec.query or ""), columns=columns, label=f"the query of {spec.export}")


def describe_tables(catalog: Catalog, types: TypeCatalog, texts: Sequence[str]) -> dict[str, Relation]:
    """Look up tables by the names that people write, all in one statement; those that do not exist are left out."""
    names = [parse_name(text) for text in texts]
    with catalog.transaction():
        rows = catalog.fetch(DESCRIBE, {"schemas": [n.schema for n in names], "names": [n.relation for n in names]})
        catalog.learn_types(types, [row.atttypid for row in rows if row.attnum is not None])
    grouped = groupby(rows, key=lambda row: int(row.place))
    return {texts[place - 1]: _table(list(columns)) for place, columns in grouped}


def no_such_table(spec: ReadSpec, name: str) -> SourceError:
    """Return the error of a table that does not exist."""
    return SourceError(
        f"{spec.export}: there is no table {name}",
        hint="check the name and the schema; names are case-sensitive here",
        sqlstate="42P01",
        error_class="missing",
    )


def _table(rows: Sequence[Any]) -> Relation:
    first, rows = rows[0], [row for row in rows if row.attnum is not None]
    table = TableName(first.nspname, first.relname)
    # Inheriting tables are exported on their own; a hypertable's chunks are nothing but its rows.
    only = "ONLY " if first.relkind == "r" and not first.hypertable else ""
    names = {str(row.attnum): row.attname for row in rows}
    found = [text.split(" ") for text in (first.unique_keys or "").split(",") if text]
    keys = [(kind, tuple(names[number] for number in numbers)) for kind, *numbers in found]
    return Relation(
        source=f"{only}{table.sql}",
        columns=tuple(raw_column(row) for row in rows),
        label=f"{first.nspname}.{first.relname}",
        unique_keys=tuple(key for _, key in keys),
        primary_key=next((key for kind, key in keys if kind == "primary"), ()),
    )


def page_key(relation: Relation, types: TypeCatalog, spec: ReadSpec, unit: Unit) -> tuple[str, ...]:
    """Return the unique not-null key along which a unit can be read in pages; empty when it has to be one statement.

    The whole table and its ranges follow the primary key: another key (an address, a version) is updated, and would carry
    rows from a page still to come into one that was. A unit along a column needs a key that begins with it. A cursor unit is
    read in pages only when its order is that of a unique key: a cursor that moves, moves up, and is read there. One shared
    snapshot (`consistent`) is read by unit, and ctid ranges, windows and NULLs have no key to follow.
    """
    if spec.snapshot == "consistent" or unit.kind not in (UnitKind.WHOLE, UnitKind.RANGE, UnitKind.CURSOR):
        return ()
    if unit.kind is UnitKind.CURSOR and (unit.lower_inclusive or spec.lookback_seconds or is_coalesce(spec, unit)):
        return ()
    cursor = unit.kind is UnitKind.CURSOR
    for key in relation.unique_keys if cursor else filter(None, [relation.primary_key]):
        columns = [relation.column(name) for name in key]
        kinds = [types.base(c.type_oid, c.typmod).kind for c in columns if c is not None]
        fits = key == unit.columns if cursor else key[: len(unit.columns)] == unit.columns
        if fits and len(kinds) == len(key) and all(kind in _KEY_KINDS for kind in kinds):
            return key
    return ()


def select_columns(
    relation: Relation,
    types: TypeCatalog,
    spec: ReadSpec,
    unit: Unit,
    *,
    positions: int,
    key: Sequence[str] = (),
    binary: bool = False,
) -> Selection:
    """Choose the columns of a unit's statement. `positions` is how many cursor positions are to be marked, 0 for none.

    `key` names the columns that pages are read along: where a row's own value does not say its place to the last digit,
    the server's text of it is read besides. `binary` plans for an engine that decodes what the server sends.

    Raises `ConfigError` for a column or an override that names nothing.
    """
    wanted = [known_column(relation, spec, name) for name in spec.columns] if spec.columns else list(relation.columns)
    for name in spec.overrides:
        known_column(relation, spec, name)
    if not wanted:
        raise ConfigError(f"{spec.export}: {relation.label} {NO_COLUMNS}", hint=SELECT_SOMETHING)
    plans = [
        plan_column(c, types, out_of_range=spec.out_of_range or "fail", override=spec.overrides.get(c.name), binary=binary)
        for c in wanted
    ]
    items = [SelectItem(name=plan.name, expression=plan.expression) for plan in plans]
    visible = len(plans)
    marks: list[tuple[str, str, int]] = []
    expressions = key_expressions(POSTGRES, spec, unit) if positions else []
    coalesced = bool(positions) and is_coalesce(spec, unit)
    for position in range(positions):
        name = unit.columns[position + 1] if coalesced and position else unit.columns[position]
        column = known_column(relation, spec, name)
        label = f"coalesce({unit.columns[0]}, {unit.columns[1]})" if coalesced and not position else name
        at = None if coalesced and not position else _index(plans[:visible], spec, name)
        if at is None:
            # What two columns give together has the modifier of neither.
            read = replace(column, typmod=-1) if coalesced and not position else column
            plan = replace(plan_column(read, types, binary=binary), name=f"{HIDDEN}{position}", nullable=True)
            text = (plan.expression or "{}").replace("{}", expressions[position])
            plans.append(plan)
            items.append(SelectItem(name=plan.name, verbatim=text))
            at = len(plans) - 1
        marks.append((label, column.source_type, at))
    places: list[tuple[str, str, int]] = []
    for number, name in enumerate(key):
        column = known_column(relation, spec, name)
        exact = types.base(column.type_oid, column.typmod).kind in _EXACT_KINDS
        at = _index(plans[:visible], spec, name) if exact else None
        if at is None:
            as_text = plan_column(column, types, override="text")
            plans.append(replace(as_text, name=f"{HIDDEN_KEY}{number}"))
            items.append(SelectItem(name=f"{HIDDEN_KEY}{number}", verbatim=server_text(name)))
            at = len(plans) - 1
        places.append((name, column.source_type, at))
    return Selection(plans=tuple(plans), items=tuple(items), visible=visible, marks=tuple(marks), key=tuple(places))


def server_text(name: str) -> str:
    """Return the SQL of a key column's own text, which a typed literal takes back unchanged."""
    return f"{ALIAS}.{POSTGRES.quote(name)}::text"


def key_types(relation: Relation, types: TypeCatalog, spec: ReadSpec, names: Sequence[str]) -> KeyTypes:
    """Return kind and source type of the key columns."""
    if tuple(names) == ("ctid",) and relation.column("ctid") is None:
        return KeyTypes(kinds={"ctid": TypeKind.OTHER}, types={"ctid": "tid"})
    columns = {name: known_column(relation, spec, name) for name in names}
    return KeyTypes(
        kinds={name: types.base(column.type_oid, column.typmod).kind for name, column in columns.items()},
        types={name: column.source_type for name, column in columns.items()},
    )


def _index(plans: Sequence[ColumnPlan], spec: ReadSpec, name: str) -> int | None:
    """Return where a column stands among those that leave, unless an override or a policy changes its values."""
    if name in spec.overrides or spec.out_of_range == "null_counted":
        return None
    return next((index for index, plan in enumerate(plans) if plan.name == name), None)


def known_column(relation: Relation, spec: ReadSpec, name: str) -> RawColumn:
    """Return the column of exactly this name. Raises `ConfigError` when there is none."""
    column = relation.column(name)
    if column is None:
        shown = ", ".join(c.name for c in relation.columns[:12]) + (", ..." if len(relation.columns) > 12 else "")
        raise ConfigError(f"{spec.export}: {relation.label} has no column {name!r}", hint=f"its columns are: {shown}")
    return column
