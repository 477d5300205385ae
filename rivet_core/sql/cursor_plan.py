"""How an incremental export moves: by one column, by a pair with the key, or by the first of two that is set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rivet_core.errors import ConfigError
from rivet_core.facts import ColumnFacts, Mark, ReadSpec, TableFacts, TypeKind, Unit, UnitKind
from rivet_core.sql.marks import shift

ORDERED = frozenset(
    {TypeKind.INTEGER, TypeKind.DECIMAL, TypeKind.FLOAT, TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.UUID}
)
"""Kinds whose order can mark progress; text (and enums) only when the config allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPlan:
    """The order an incremental export is read in.

    `columns` are what the unit names: for `coalesce` the primary and the fallback column first, then the tie breaker's.
    `positions` name one mark each, with the type it has; `kind` is the cursor's. `inclusive` says that nothing breaks ties,
    so the boundary rows are read again (`delivery: at_least_once`).
    """

    mode: str
    columns: tuple[str, ...]
    positions: tuple[tuple[str, str], ...]
    kind: TypeKind
    nullable: bool
    inclusive: bool

    @property
    def delivery(self) -> str:
        """`exactly_once`, or `at_least_once` when boundary rows are delivered again."""
        return "at_least_once" if self.inclusive else "exactly_once"


def plan_cursor(spec: ReadSpec, table: TableFacts) -> CursorPlan:
    """Choose the order for an incremental read of `table`.

    `single_column` when the cursor alone is unique; the pair (cursor, primary key) when it is not and a not-null key
    exists; else the cursor with an inclusive lower bound. `coalesce` takes its two columns as one. Raises `ConfigError`
    for a missing column, a type without order, and text that the config does not allow.
    """
    if not spec.cursor:
        raise ConfigError(f"{spec.export} is incremental but names no cursor", hint="set `cursor_column`")
    columns = [check_cursor_column(spec, table, name) for name in spec.cursor]
    first = columns[0]
    if spec.cursor_mode == "coalesce":
        return _coalesce(spec, table, columns)
    if spec.cursor_mode == "pair" and len(columns) > 1:
        breakers = columns[1:]
    elif table.is_unique(first.name):
        breakers = []
    else:
        breakers = _key_columns(table, {first.name})
    chosen = [first, *breakers]
    return CursorPlan(
        mode="pair" if breakers else "single_column",
        columns=tuple(column.name for column in chosen),
        positions=tuple((column.name, column.source_type) for column in chosen),
        kind=first.kind,
        nullable=first.nullable,
        inclusive=not breakers and not table.is_unique(first.name),
    )


def check_cursor_column(spec: ReadSpec, table: TableFacts, name: str) -> ColumnFacts:
    """Return the column, or raise `ConfigError` saying why it cannot mark progress."""
    column = table.column(name)
    if column is None:
        known = ", ".join(c.name for c in table.columns[:12])
        raise ConfigError(
            f"{spec.export}: {spec.table or 'the query'} has no column {name!r}", hint=f"its columns are: {known}"
        )
    if column.kind in (TypeKind.TEXT, TypeKind.ENUM):
        if not spec.allow_text_cursor:
            raise ConfigError(
                f"{spec.export}: the cursor {name} is {column.source_type}; text sorts by collation, '9' comes after '10'",
                hint="use a number or time column, or set `allow_text_cursor: true` if the server's order is meant",
            )
    elif column.kind not in ORDERED:
        raise ConfigError(
            f"{spec.export}: the cursor {name} is {column.source_type}, which has no order that marks progress",
            hint="use an integer, decimal, date or timestamp column",
        )
    return column


def coalesce_name(primary: str, fallback: str) -> str:
    """Return the name of the one position of a coalesce cursor."""
    return f"coalesce({primary}, {fallback})"


def cursor_units(spec: ReadSpec, plan: CursorPlan, committed: Sequence[Mark]) -> tuple[Unit, ...]:
    """Return the units of one incremental run: past the committed marks, and the rows without a cursor.

    Raises `ConfigError` when the committed marks are of another column or type.
    """
    check_committed(spec, plan, committed)
    lower, inclusive = tuple(committed), plan.inclusive
    if lower and spec.lookback_seconds:
        lower, inclusive = (shift(lower[0], plan.kind, -spec.lookback_seconds),), True
    units = [Unit(index=0, kind=UnitKind.CURSOR, columns=plan.columns, lower=lower, lower_inclusive=inclusive and bool(lower))]
    if plan.nullable and spec.null_cursor in ("include", "fail"):
        # `fail` reads them too: the first row of the unit is the failure.
        cursor = plan.columns[:2] if plan.mode == "coalesce" else plan.columns[:1]
        units.append(Unit(index=1, kind=UnitKind.NULLS, columns=cursor))
    return tuple(units)


def check_committed(spec: ReadSpec, plan: CursorPlan, committed: Sequence[Mark]) -> None:
    """Raise `ConfigError` when what was saved is not a position in this plan's order."""
    for index, mark in enumerate(committed):
        now = plan.positions[index] if index < len(plan.positions) else ("nothing", "nothing")
        if (mark.column, mark.type) != now:
            raise ConfigError(
                f"{spec.export}: the saved cursor is {mark.column} ({mark.type}), the export now reads by {now[0]} ({now[1]})",
                hint=f"put the column back, or start over with `rivet state reset -e {spec.export}`",
            )


def _coalesce(spec: ReadSpec, table: TableFacts, columns: Sequence[ColumnFacts]) -> CursorPlan:
    if len(columns) != 2:
        raise ConfigError(f"{spec.export}: a coalesce cursor needs two columns", hint="set `cursor_fallback_column`")
    primary, fallback = columns
    if primary.kind is not fallback.kind:
        raise ConfigError(
            f"{spec.export}: {primary.name} is {primary.source_type} and {fallback.name} is {fallback.source_type}",
            hint="a coalesce cursor needs two columns of one type",
        )
    breakers = _key_columns(table, set())
    position = (coalesce_name(primary.name, fallback.name), primary.source_type)
    return CursorPlan(
        mode="coalesce",
        columns=(primary.name, fallback.name, *(column.name for column in breakers)),
        positions=(position, *((column.name, column.source_type) for column in breakers)),
        kind=primary.kind,
        nullable=primary.nullable and fallback.nullable,
        inclusive=not breakers,
    )


def _key_columns(table: TableFacts, without: set[str]) -> list[ColumnFacts]:
    """Return the primary key's columns that break ties, none when one of them cannot be a mark."""
    found = [table.column(name) for name in table.primary_key if name not in without]
    columns = [column for column in found if column is not None]
    usable = ORDERED | {TypeKind.TEXT}
    return columns if len(columns) == len(found) and all(column.kind in usable for column in columns) else []
