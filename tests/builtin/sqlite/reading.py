"""What several tests here do: read units and look at what came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.facts import Mark, ReadSpec, Unit, UnitKind


def read_unit(session: SqliteSession, spec: ReadSpec, unit: Unit) -> tuple[pa.Table, tuple[Mark, ...] | None, dict[str, int]]:
    stream = session.read(spec, unit)
    table = pa.Table.from_batches(list(stream), schema=stream.schema)
    return table, stream.marks, stream.counts


def read_all(session: SqliteSession, spec: ReadSpec, units: Iterable[Unit]) -> pa.Table:
    return pa.concat_tables([read_unit(session, spec, unit)[0] for unit in units])


def run(session: SqliteSession, spec: ReadSpec, committed: Sequence[Mark]) -> tuple[pa.Table, pa.Table, tuple[Mark, ...]]:
    """One incremental run: the rows past the cursor, those without one, and the marks after it."""
    units = session.units(spec, committed)
    past, marks, _ = read_unit(session, spec, units[0])
    without = [read_unit(session, spec, unit)[0] for unit in units if unit.kind is UnitKind.NULLS]
    return past, pa.concat_tables([past.slice(0, 0), *without]), marks or tuple(committed)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
