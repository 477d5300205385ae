"""Units of a chunked export: ranges of a key that hold about equally many rows, and tile it.

SQLite keeps no histogram, but a step down its b-tree costs microseconds. So the key is explored: a stretch of keys is cut
in the middle, each half is trimmed to the keys that are really there, and its rows are judged from how close the keys stand at
its beginning. Gaps vanish, dense stretches are cut again, and neighbours are joined until each unit has its share.
"""

# Identifiers are quoted by the dialect, values are bound.
# ruff: noqa: S608

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from rivet_core.builtin.sqlite.connection import Connection
from rivet_core.builtin.sqlite.cursor import mark_of
from rivet_core.builtin.sqlite.schema import Table
from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import ColumnFacts, Mark, ReadSpec, TableFacts, TypeKind, Unit, UnitKind
from rivet_core.sql.dialect import SQLITE
from rivet_core.sql.marks import MICROS_PER_DAY, micros_of
from rivet_core.sql.ranges import DEFAULT_CHUNK_ROWS, MAX_UNITS, tile, tile_keys
from rivet_core.sql.windows import check_days, day_cuts

SAMPLE_ROWS = 64
"""Keys looked at to judge how close they stand."""
PIECES_PER_UNIT = 4
LEAST_PIECES = 64


@dataclass(frozen=True, slots=True)
class Stretch:
    """Keys from `low` to `high`, both present, with about `rows` between them."""

    low: int
    high: int
    rows: int


def tiles(connection: Connection, spec: ReadSpec, facts: TableFacts, table: Table | None) -> tuple[Unit, ...]:
    """Return units that tile the table by the chunk column, or by its primary key. One unit when there is nothing to cut by."""
    whole = (Unit(index=0, kind=UnitKind.WHOLE),)
    if table is None:
        if spec.chunk_column:
            _column(spec, facts, spec.chunk_column)
        return whole
    key = [column for name in table.key if (column := facts.column(name)) is not None]
    if spec.chunk_by_days and not spec.chunk_column and not key:
        raise ConfigError(f"{spec.export}: {facts.name} has no primary key to chunk by", hint="use `mode: full`")
    if spec.chunk_column:
        column = _column(spec, facts, spec.chunk_column)
        if column.name not in table.key:
            raise ConfigError(
                f"{spec.export}: chunk_column {column.name} is not in the primary key, so a row could move between units",
                hint=f"chunk by {', '.join(table.key)}" if table.key else "use `mode: full`: one statement in one transaction",
            )
        if spec.chunk_by_days:
            return _by_days(connection, spec, table, column)
        if column.kind is TypeKind.INTEGER:
            return _by_integer(connection, spec, table, column)
        key = [column] if len(key) == 1 else []
    elif spec.chunk_by_days:
        return _by_days(connection, spec, table, key[0])
    elif key and key[0].kind is TypeKind.INTEGER and (len(key) == 1 or not spec.chunk_by_key):
        return _by_integer(connection, spec, table, key[0])
    if not key or any(column.nullable for column in key):
        return whole
    return _by_key(connection, spec, table, key)


def _column(spec: ReadSpec, facts: TableFacts, name: str) -> ColumnFacts:
    column = facts.column(name)
    if column is None:
        raise ConfigError(
            f"{spec.export}: {spec.table or 'the query'} has no column {name!r}",
            hint=f"its columns are: {', '.join(c.name for c in facts.columns[:12])}",
        )
    return column


def _by_integer(connection: Connection, spec: ReadSpec, table: Table, column: ColumnFacts) -> tuple[Unit, ...]:
    explorer = Explorer(connection, table.relation.name, column.name)
    ends = explorer.ends()
    if ends is None:
        return tile(column.name, column.source_type, (), nullable=column.nullable)
    stretches = explorer.explore(*ends, chunk_rows=spec.chunk_size or DEFAULT_CHUNK_ROWS, units=spec.chunk_count)
    rows = sum(stretch.rows for stretch in stretches)
    units = spec.chunk_count or -(-rows // (spec.chunk_size or DEFAULT_CHUNK_ROWS))
    cuts = cut(stretches, min(max(1, units), MAX_UNITS))
    return tile(column.name, column.source_type, [str(c) for c in cuts], rows=rows, nullable=column.nullable)


class Explorer:
    """Looks at an integer key from its b-tree."""

    def __init__(self, connection: Connection, table: str, column: str) -> None:
        self._connection, self._table, self._column = connection, SQLITE.quote(table), SQLITE.quote(column)

    def ends(self) -> tuple[int, int] | None:
        """Return the lowest and highest key, `None` for no rows. Raises `SourceError` when it holds more than integers."""
        low, high = self._one(
            f"SELECT (SELECT min({self._column}) FROM {self._table}), (SELECT max({self._column}) FROM {self._table})"
        )
        if low is None:
            return None
        if not isinstance(low, int) or not isinstance(high, int):
            raise SourceError(
                f"{self._table}.{self._column} holds more than the integers it is declared to hold",
                hint="correct them, or use `mode: full` with the column read as text",
                error_class="data",
            )
        return low, high

    def explore(self, low: int, high: int, *, chunk_rows: int, units: int | None) -> list[Stretch]:
        """Return stretches in order, each of at most a unit's rows where the number of looks allows."""
        first = self._judge(low, high)
        heap = [(-first.rows, first.low, first)]
        most = max(LEAST_PIECES, PIECES_PER_UNIT * min(units or -(-first.rows // chunk_rows), MAX_UNITS))
        while len(heap) < most:
            _, _, widest = heap[0]
            total = -sum(rows for rows, _, _ in heap) if units else 0
            share = max(1, total // units) if units else chunk_rows
            if widest.low == widest.high or widest.rows * 2 <= share:
                break
            heapq.heappop(heap)
            middle = (widest.low + widest.high) // 2
            below, above = self._one(
                f"SELECT (SELECT max({self._column}) FROM {self._table} WHERE {self._column} <= ?1),"
                f" (SELECT min({self._column}) FROM {self._table} WHERE {self._column} > ?1)",
                (middle,),
            )
            for piece in (self._judge(widest.low, below), self._judge(above, widest.high)):
                heapq.heappush(heap, (-piece.rows, piece.low, piece))
        return sorted((piece for _, _, piece in heap), key=lambda piece: piece.low)

    def _judge(self, low: int, high: int) -> Stretch:
        count, last = self._one(
            f"SELECT count(*), max(k) FROM (SELECT {self._column} AS k FROM {self._table}"
            f" WHERE {self._column} >= ? AND {self._column} <= ? ORDER BY {self._column} LIMIT ?)",
            (low, high, SAMPLE_ROWS),
        )
        if count < SAMPLE_ROWS or last >= high:
            return Stretch(low, high, count)
        # Keys need not be unique (the first column of a longer key), so rows may outnumber the span.
        return Stretch(low, high, max(count, count * (high - low + 1) // (last - low + 1)))

    def _one(self, statement: str, values: Sequence[object] = ()) -> tuple[int, ...]:
        found: tuple[int, ...] = self._connection.execute(statement, values).fetchone()
        return found


def cut(stretches: Sequence[Stretch], units: int) -> list[int]:
    """Return ascending cuts that part the stretches into about `units` of equal rows; inside a stretch by width."""
    total = sum(stretch.rows for stretch in stretches)
    cuts: list[int] = []
    seen = 0
    for stretch in stretches:
        first, last = seen * units // total + 1, (seen + stretch.rows) * units // total
        for edge in range(first, last + 1):
            into = edge * total // units - seen
            place = stretch.low - 1 + (stretch.high - stretch.low + 1) * into // stretch.rows
            if place < stretches[-1].high and (not cuts or place > cuts[-1]) and place >= stretches[0].low:
                cuts.append(place)
        seen += stretch.rows
    return cuts


def _by_days(connection: Connection, spec: ReadSpec, table: Table, column: ColumnFacts) -> tuple[Unit, ...]:
    """Return ranges of days; a time of the last day sorts before the cut whether a blank or a T stands in it."""
    check_days(spec, column)
    name, source = SQLITE.quote(column.name), SQLITE.quote(table.relation.name)
    low, high = connection.execute(f"SELECT (SELECT min({name}) FROM {source}), (SELECT max({name}) FROM {source})").fetchone()
    cuts = () if low is None else _day_cuts(spec, column, low, high)
    return tile(column.name, column.source_type, cuts, nullable=column.nullable)


def _day_cuts(spec: ReadSpec, column: ColumnFacts, low: object, high: object) -> tuple[str, ...]:
    try:
        first, last = (micros_of(str(value)[:10]) // MICROS_PER_DAY for value in (low, high))
    except ConfigError:
        raise SourceError(
            f"{spec.export}: {column.name} goes from {low!r} to {high!r}, which are no ISO dates that days could be cut from",
            hint="use `chunk_size`, or write ISO text",
            error_class="data",
        ) from None
    return tuple(cut.replace(" ", "T") for cut in day_cuts(column.kind, first, last, spec.chunk_by_days or 1))


def _by_key(connection: Connection, spec: ReadSpec, table: Table, key: Sequence[ColumnFacts]) -> tuple[Unit, ...]:
    """Return keyset units: every n-th key, found by walking the key's own b-tree once."""
    source, names = SQLITE.quote(table.relation.name), [SQLITE.quote(column.name) for column in key]
    order = ", ".join(names)
    size = spec.chunk_size or DEFAULT_CHUNK_ROWS
    if spec.chunk_count:
        (rows,) = connection.execute(f"SELECT count(*) FROM {source}").fetchone()
        size = max(1, -(-rows // spec.chunk_count))
    bounds: list[tuple[Mark, ...]] = []
    values: tuple[object, ...] = ()
    while len(bounds) < MAX_UNITS - 1:
        after = f" WHERE {SQLITE.compare(names, '>', ['?'] * len(names))}" if values else ""
        found = connection.execute(
            f"SELECT {order} FROM {source}{after} ORDER BY {order} LIMIT 1 OFFSET {size - 1}", values
        ).fetchone()
        if found is None:
            break
        values = found
        bounds.append(tuple(mark_of(column.name, column.source_type, value) for column, value in zip(key, found, strict=True)))
    return tile_keys([column.name for column in key], bounds, size)
