"""Chunked reads: a table cut along a key into units of about equally many rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rivet_core.errors import ConfigError
from rivet_core.facts import ColumnFacts, Mark, ReadSpec, RelationKind, TableFacts, TypeKind, Unit, UnitKind
from rivet_core.sql import windows
from rivet_core.sql.cursor_plan import ORDERED
from rivet_core.sql.marks import MICROS_PER_DAY, micros_of
from rivet_core.sql.ranges import DEFAULT_CHUNK_ROWS, integer_cuts, tile, tile_keys, unit_count, value_cuts

_DERIVED = (RelationKind.VIEW, RelationKind.FOREIGN, RelationKind.QUERY)
_KEYS = ORDERED | {TypeKind.TEXT}
BLOCK_BYTES = 8192
"""PostgreSQL's default block size; with another one the units are only less even, the last one is open."""
UNINDEXED_BYTES = 64 << 20
"""A column that leads no index is cut only in a table smaller than this: every unit scans all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What is known of a key's values, as the server's text in its own order: equi-depth bounds, or the two ends."""

    bounds: Sequence[str] = ()
    low: str | None = None
    high: str | None = None


def chunk_units(
    spec: ReadSpec,
    table: TableFacts,
    keys: Callable[[str], Keys],
    sample: Callable[[Sequence[str], int, int], Sequence[tuple[str, ...]]],
) -> tuple[Unit, ...]:
    """Return the units of a chunked read; they tile the key, NULL keys have their own.

    Along `chunk_column`, else along the first column of the primary key; one unit when the table has neither, and for a
    view or query unless EXPLAIN says that an index serves the column. `keys` asks the server for bounds, and only when the
    table may need more than one unit. Where the first column parts the rows too coarsely (few values, or no statistics), the
    whole primary key is cut, at values that `sample(columns, units, blocks)` finds. Raises `ConfigError` for a column that
    cannot be cut.
    """
    column = chunk_column(spec, table)
    rows = _rows(table)
    if column is None and table.kind is RelationKind.TABLE and not _fits_one(spec, rows):
        return block_units(spec, table, rows)
    if column is None or _fits_one(spec, rows) or (table.kind in _DERIVED and not table.index_for_range.get(column.name)):
        return tile("", "", (), rows=rows)
    _require_key(spec, table, column)
    known = keys(column.name)
    units = unit_count(rows, spec.chunk_size, spec.chunk_count)
    if spec.chunk_by_days:
        cuts = day_cuts(spec, column, known)
    elif column.kind is TypeKind.INTEGER:
        cuts = _integer_cuts(spec, column, known, rows)
    elif column.kind is TypeKind.UUID and len(known.bounds) < 3:
        cuts = uuid_cuts(units)
    else:
        cuts = value_cuts(known.bounds, units)
    if 2 * (len(cuts) + 1) <= units and not spec.chunk_by_days and (key := _whole_key(table, column)):
        bounds = sample([one.name for one in key], units, _blocks(table) or 1)
        if len(bounds) > len(cuts):
            marks = [tuple(_mark(one, value) for one, value in zip(key, bound, strict=True)) for bound in bounds]
            return tile_keys([one.name for one in key], marks, None if rows is None else rows // (len(bounds) + 1))
    return tile(column.name, column.source_type, cuts, rows=rows, nullable=column.nullable)


def _whole_key(table: TableFacts, column: ColumnFacts) -> list[ColumnFacts]:
    """Return the columns of a stored table's primary key, if it begins with `column` and row comparisons can cut it."""
    key = [one for name in table.primary_key if (one := table.column(name)) is not None]
    fits = bool(key) and key[0].name == column.name and all(one.kind in _KEYS for one in key)
    return key if fits and table.kind is RelationKind.TABLE and _blocks(table) is not None else []


def _mark(column: ColumnFacts, value: str) -> Mark:
    return Mark(column=column.name, type=column.source_type, value=value)


def _blocks(table: TableFacts) -> int | None:
    """Return the blocks of a table's heap, `None` when its size is not known."""
    measured = next((evidence.value for evidence in table.bytes if evidence.signal == "table_bytes_measured"), None)
    if not isinstance(measured, int):
        return None
    return max(1, (measured - (table.out_of_line_bytes or 0)) // BLOCK_BYTES)


def chunk_column(spec: ReadSpec, table: TableFacts) -> ColumnFacts | None:
    """Return the column to cut along, `None` when nothing offers itself. Raises `ConfigError` for one that is unusable."""
    if spec.chunk_column is None:
        first = table.column(table.primary_key[0]) if table.primary_key else None
        if first is None and (spec.chunk_by_key or spec.chunk_by_days):
            raise ConfigError(f"{spec.export}: {table.name} has no primary key to chunk by", hint="name a `chunk_column`")
        return first if first is not None and (first.kind in _KEYS) else None
    column = table.column(spec.chunk_column)
    if column is None:
        known = ", ".join(c.name for c in table.columns[:12])
        raise ConfigError(f"{spec.export}: there is no column {spec.chunk_column!r}", hint=f"its columns are: {known}")
    if column.kind not in _KEYS:
        raise ConfigError(
            f"{spec.export}: the chunk column {column.name} is {column.source_type}, which cannot be cut into ranges",
            hint="name an integer, decimal, date, timestamp, uuid or text column",
        )
    size = next((evidence.value for evidence in table.bytes), None)
    large = isinstance(size, int | float) and size > UNINDEXED_BYTES
    if large and table.kind not in _DERIVED and not table.leads_index(column.name):
        raise ConfigError(
            f"{spec.export}: the chunk column {column.name} leads no index, so every unit would scan the whole table",
            hint=f"create an index on {column.name}, or chunk by the primary key",
        )
    return column


def _require_key(spec: ReadSpec, table: TableFacts, column: ColumnFacts) -> None:
    """Refuse units that rows could move between while they are read one after another.

    An UPDATE of a column that is not the primary key, unique or not, would carry a row from a unit not yet read into one that
    was, and lose it. One snapshot for all units rules that out. The code `needs_snapshot` lets a planner ask again with
    `snapshot: consistent`.
    """
    stored = table.kind in (RelationKind.TABLE, RelationKind.PARTITIONED)
    if stored and table.primary_key[:1] != (column.name,) and spec.snapshot != "consistent":
        raise ConfigError(
            f"{spec.export}: {column.name} is not the primary key, so a row could move between units while they are read",
            hint="set `snapshot: consistent`, or chunk by the primary key",
            code="needs_snapshot",
        )


def day_cuts(spec: ReadSpec, column: ColumnFacts, known: Keys) -> tuple[str, ...]:
    """Return a cut before every `chunk_by_days`-th day (UTC), from the first known day to the last."""
    windows.check_days(spec, column)
    ends = [text for text in (*known.bounds, known.low, known.high) if text and "infinity" not in text]
    days = sorted(micros_of(text) // MICROS_PER_DAY for text in ends)
    if not days:
        return ()
    return windows.day_cuts(column.kind, days[0], days[-1], spec.chunk_by_days or 1)


def block_units(spec: ReadSpec, table: TableFacts, rows: int | None) -> tuple[Unit, ...]:
    """Return block ranges of a heap without a key. Rows move between blocks, so they need one snapshot for all units.

    Raises `ConfigError` of code `needs_snapshot` where more than one unit would be read without.
    """
    blocks = _blocks(table)
    if blocks is None:
        return tile("", "", (), rows=rows)
    count = min(unit_count(rows, spec.chunk_size, spec.chunk_count), blocks)
    if count > 1 and spec.snapshot != "consistent":
        raise ConfigError(
            f"{spec.export}: {table.name} has no key, and an update moves a row to another block while they are read",
            hint="set `snapshot: consistent`, or use `mode: full`",
            code="needs_snapshot",
        )
    edges = [Mark(column="ctid", type="tid", value=f"({blocks * i // count},0)") for i in range(1, count)]
    return tuple(
        Unit(
            index=index,
            kind=UnitKind.CTID,
            columns=("ctid",),
            lower=(lower,) if lower else (),
            upper=(upper,) if upper else (),
            lower_inclusive=True,
            upper_inclusive=False,
            rows=None if rows is None else rows // count,
        )
        for index, (lower, upper) in enumerate(zip([None, *edges], [*edges, None], strict=True))
    )


def uuid_cuts(units: int) -> tuple[str, ...]:
    """Return cuts that split the space of uuids evenly: random ones then fall evenly."""
    found = []
    for i in range(1, units):
        digits = f"{((i << 128) // units) - 1:032x}"
        found.append(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
    return tuple(found)


def _integer_cuts(spec: ReadSpec, column: ColumnFacts, known: Keys, rows: int | None) -> tuple[str, ...]:
    bounds = [int(bound) for bound in known.bounds]
    ends = [int(end) for end in (known.low, known.high) if end is not None] or bounds
    if not ends:
        return ()
    low, high = min(ends), max(ends)
    counted = rows if rows is not None else high - low + 1
    units = unit_count(counted, spec.chunk_size, spec.chunk_count)
    return tuple(str(cut) for cut in integer_cuts(low=low, high=high, units=units, rows=rows, bounds=bounds))


def _fits_one(spec: ReadSpec, rows: int | None) -> bool:
    if spec.chunk_by_days:
        return False
    if spec.chunk_count is not None:
        return spec.chunk_count <= 1
    return rows is not None and rows <= (spec.chunk_size or DEFAULT_CHUNK_ROWS)


def _rows(table: TableFacts) -> int | None:
    return next((int(evidence.value) for evidence in table.rows if isinstance(evidence.value, int | float)), None)
