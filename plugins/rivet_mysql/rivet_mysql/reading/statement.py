"""The statements of one unit: the select list of each engine, and the pages along a key."""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from rivet_core.facts import Mark, ReadSpec, TableFacts, TypeKind, Unit, UnitKind
from rivet_core.sql.dialect import checked_hex
from rivet_core.sql.querytext import ALIAS, derived_table
from rivet_core.sql.select import KeyTypes, key_expressions, where_unit
from rivet_mysql.dialect import MYSQL
from rivet_mysql.reading.columns import Column
from rivet_mysql.types import NO_LETTER, charset_of, may_lose

PAGED = frozenset(
    {TypeKind.INTEGER, TypeKind.DECIMAL, TypeKind.TEXT, TypeKind.BYTES, TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ}
)
"""Kinds whose order a literal can continue. FLOAT compares inexactly, ENUM, SET and BIT order by number but compare as text."""

_HIDDEN = "__rivet_{}"
_FLAG_BITS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One part of a key: its SQL, the name and type that its mark has, and its kind.

    `collation` is set where its text may not survive the way to UTF-8: then its mark holds the bytes it is stored as.
    `lossy` says the same of a cursor, whose mark is kept as text: it has none at a text that does not survive.
    """

    expression: str
    name: str
    source_type: str
    kind: TypeKind
    collation: str = ""
    lossy: bool = False

    def literal(self, value: str) -> str:
        """Return the literal of a mark's value."""
        if self.collation:
            return f"_{charset_of(self.collation)} X'{checked_hex(value)}' COLLATE {self.collation}"
        return MYSQL.literal(self.kind, value, self.source_type)

    @property
    def text(self) -> str:
        """Return the SQL of its exact text."""
        if self.kind is TypeKind.BYTES or self.collation:
            return f"HEX({self.expression})"
        if self.kind is TypeKind.FLOAT:
            return f"CAST(({self.expression} * 1e0) AS CHAR)"
        if self.source_type.startswith("bit"):
            return f"CAST(CAST({self.expression} AS UNSIGNED) AS CHAR)"
        if self.lossy:
            return f"IF({NO_LETTER.replace('{}', self.expression)}, NULL, CAST({self.expression} AS CHAR))"
        return f"CAST({self.expression} AS CHAR)"


def canonical(position: Position, value: str) -> Mark:
    """Return the mark at a position from the server's text of it."""
    if position.kind is TypeKind.BYTES:
        value = f"\\x{value.lower()}"
    elif position.kind is TypeKind.FLOAT:
        value = repr(float(value))
    elif position.kind is TypeKind.INTEGER:
        value = str(int(value))  # ZEROFILL and YEAR pad with zeros
    elif position.kind in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
        clock, _, fraction = value.partition(".")
        fraction = fraction.ljust(6, "0") if fraction.strip("0") else ""
        value = clock + (f".{fraction}" if fraction else "") + ("+00" if position.kind is TypeKind.TIMESTAMPTZ else "")
    return Mark(column=position.name, type=position.source_type, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The select list for one engine: SQL, the Arrow types that arrive, and what stands where.

    The first `visible` items are the output columns; then come the zero-date flags, the SRIDs, and the key's texts.
    """

    items: tuple[str, ...]
    wires: tuple[pa.DataType, ...]
    flags: tuple[tuple[int, tuple[Column, ...]], ...]
    srids: tuple[tuple[int, Column], ...]
    key: tuple[int, ...]


class Statements:
    """Writes the statements of one unit."""

    def __init__(
        self,
        spec: ReadSpec,
        unit: Unit,
        facts: TableFacts,
        columns: Sequence[Column],
        positions: Sequence[Position],
        *,
        paged: bool,
    ) -> None:
        self.columns = tuple(columns)
        self.positions = tuple(positions)
        self.paged = paged
        self.token = secrets.token_hex(8)
        self._spec = spec
        self._unit = unit
        table = derived_table(MYSQL, spec.query) if spec.query is not None else MYSQL.qualified((facts.schema, facts.relation))
        self._source = table if spec.query is not None else f"{table} AS {ALIAS}"
        self._keys = KeyTypes.of(facts.columns)
        self.conditions = where_unit(MYSQL, spec=spec, unit=unit, keys=self._keys)

    @property
    def comment(self) -> str:
        """What marks our statements in the server's process list; it is how a running one is found and cancelled."""
        name = "".join(char if char.isalnum() or char in "._-" else "_" for char in self._spec.export)[:60]
        return f"/* rivet/{name} {self.token} */"

    def select(self, selection: Selection, after: Sequence[Mark] = (), limit: int | None = None) -> str:
        """Return the statement of the rows after `after` (a key), at most `limit` of them."""
        parts = [f"SELECT {self.comment} {', '.join(selection.items)}", f"FROM {self._source}"]
        conditions = list(self.conditions)
        if after:
            literals = [position.literal(mark.value) for position, mark in zip(self.positions, after, strict=True)]
            conditions.append(MYSQL.compare([p.expression for p in self.positions], ">", literals))
        if conditions:
            parts.append("WHERE " + " AND ".join(conditions))
        if self.paged or self._unit.kind is UnitKind.CURSOR:
            parts.append("ORDER BY " + ", ".join(p.expression for p in self.positions))
        if limit is not None:
            parts.append(f"LIMIT {limit}")
        return "\n".join(parts)

    def exists_after(self, after: Sequence[Mark]) -> str:
        """Return a statement that has a row when there are rows after `after`."""
        one = Selection(items=("1",), wires=(), flags=(), srids=(), key=())
        return self.select(one, after, 1)

    def size_of(self, after: Sequence[Mark], limit: int) -> str:
        """Return a statement that gives the bytes of the uneven columns in the `limit` rows after `after`."""
        long = [f"COALESCE(OCTET_LENGTH({_reference(column.name)}), 0)" for column in self.columns if column.uneven]
        sizes = Selection(items=(f"{' + '.join(long)} AS size",), wires=(), flags=(), srids=(), key=())
        return f"SELECT SUM(size) FROM (\n{self.select(sizes, after, limit)}\n) AS page"

    def srid(self, column: Column) -> str:
        """Return the statement that asks for the SRID of one value of a geometry column."""
        name = f"{ALIAS}.{MYSQL.quote(column.name)}"
        return f"SELECT ST_SRID({name}) FROM {self._source} WHERE {name} IS NOT NULL LIMIT 1"

    def selection(self, *, rows: bool) -> Selection:
        """Return the select list; `rows` for the text protocol."""
        items, wires = [], []
        for column in self.columns:
            how = column.how
            expression = how.rows_expression if rows and how.rows_expression is not None else how.expression
            items.append(_item(column.name, (expression or "{}").replace("{}", _reference(column.name))))
            wires.append(pa.float64() if rows and how.rows_expression is not None else column.wire)
        flags = []
        for start in range(0, len(flagged := [c for c in self.columns if c.zeros and c.nullable]), _FLAG_BITS):
            group = tuple(flagged[start : start + _FLAG_BITS])
            terms = [f"IF({c.how.zero.replace('{}', _reference(c.name))}, {1 << bit}, 0)" for bit, c in enumerate(group)]
            flags.append((len(items), group))
            items.append(_item(_HIDDEN.format(f"zero_{start}"), f"CAST({' + '.join(terms)} AS SIGNED)"))
            wires.append(pa.int64())
        srids = []
        for number, column in enumerate(c for c in self.columns if c.how.geometry):
            srids.append((len(items), column))
            items.append(_item(_HIDDEN.format(f"srid_{number}"), f"CAST(ST_SRID({_reference(column.name)}) AS SIGNED)"))
            wires.append(pa.int64())
        key = []
        for number, position in enumerate(self.positions):
            key.append(self._visible(position) if self._visible(position) is not None else len(items))
            if key[-1] == len(items):
                items.append(_item(_HIDDEN.format(f"key_{number}"), position.text))
                wires.append(pa.string())
        return Selection(items=tuple(items), wires=tuple(wires), flags=tuple(flags), srids=tuple(srids), key=tuple(key))  # type: ignore[arg-type]

    def _visible(self, position: Position) -> int | None:
        """Return where an integer key is among the output columns: its text is the value's own."""
        if position.kind is not TypeKind.INTEGER or position.expression != _reference(position.name):
            return None
        places = [
            i
            for i, c in enumerate(self.columns)
            if c.name == position.name and pa.types.is_integer(c.wire) and not c.how.expression
        ]
        return places[0] if places else None


def _reference(name: str) -> str:
    return f"{ALIAS}.{MYSQL.quote(name)}"


def _item(name: str, expression: str) -> str:
    return f"{expression} AS {MYSQL.quote(name)}"


def page_positions(spec: ReadSpec, unit: Unit, facts: TableFacts) -> tuple[Position, ...]:
    """Return the key along which a unit can be read in pages; none when only one statement is exact or cheap.

    A whole table, a range and the rows without a cursor go along the primary key; a window along its time and the key, when
    an index begins with the time.
    """
    key = facts.primary_key
    if spec.query is not None or spec.snapshot == "consistent" or not key:
        return ()
    if unit.kind is UnitKind.WINDOW:
        names = (*unit.columns, *(name for name in key if name not in unit.columns))
        if not _indexed(facts, names):
            return ()
    elif unit.kind in (UnitKind.WHOLE, UnitKind.NULLS) or (
        unit.kind is UnitKind.RANGE and unit.columns == key[: len(unit.columns)]
    ):
        names = key
    else:
        return ()
    positions = [_position(facts, name) for name in names]
    return tuple(positions) if all(_pages(p) for p in positions) else ()


def cursor_positions(
    spec: ReadSpec, unit: Unit, facts: TableFacts, named: Sequence[tuple[str, str]], kind: TypeKind, *, unique: bool
) -> tuple[tuple[Position, ...], bool]:
    """Return the positions of a cursor unit, and whether it can be read in pages: an index gives the order, nothing ties."""
    expressions = key_expressions(MYSQL, spec, unit)
    lossy = {column.name for column in facts.columns if may_lose(column.kind, column.collation)}
    kinds = [kind, *((facts.column(name) or facts.columns[0]).kind for name, _ in named[1:])]
    positions = tuple(
        Position(
            expression=expression,
            name=name,
            source_type=source_type,
            kind=one,
            lossy=not lossy.isdisjoint(unit.columns[:2] if expression != _reference(name) else (name,)),
        )
        for expression, (name, source_type), one in zip(expressions, named, kinds, strict=True)
    )
    plain = all(position.expression == _reference(position.name) for position in positions)
    paged = unique and plain and spec.snapshot != "consistent" and _indexed(facts, [p.name for p in positions])
    return positions, paged and all(_pages(position) for position in positions)


def _position(facts: TableFacts, name: str) -> Position:
    column = facts.column(name)
    assert column is not None  # noqa: S101 - the key of the same facts
    lossy = column.kind is TypeKind.TEXT and may_lose(column.kind, column.collation)
    return Position(
        expression=_reference(name),
        name=name,
        source_type=column.source_type,
        kind=column.kind,
        collation=column.collation if lossy else "",
    )


def _pages(position: Position) -> bool:
    return position.kind in PAGED and not position.source_type.lower().startswith(("bit", "set", "enum"))


def _indexed(facts: TableFacts, names: Sequence[str]) -> bool:
    """Whether some index reads in the order of `names`; every secondary index goes on with the primary key."""
    wanted = tuple(names)
    for index in facts.indexes:
        if index.usable and (index.columns if index.primary else (*index.columns, *facts.primary_key))[: len(wanted)] == wanted:
            return True
    return False
