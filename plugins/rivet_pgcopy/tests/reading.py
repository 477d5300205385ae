"""Reading one table with each engine, and what is compared: schema, every bit of every value, counts, refusals."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pyarrow as pa

from rivet_core.errors import SourceError
from rivet_core.facts import ReadSpec, Tuning, Unit, UnitKind

WHOLE = Unit(index=0, kind=UnitKind.WHOLE)


@dataclass(frozen=True)
class Read:
    """What one engine made of a table: rows, or the words of its refusal."""

    schema: pa.Schema | None
    columns: dict[str, list[object]]
    counts: dict[str, int]
    refusal: tuple[str, str, bool] | None = None


def read(session, table: str, **keys) -> Read:
    spec = ReadSpec(export="e", table=table, tuning=keys.pop("tuning", Tuning(page_seconds=0)), **keys)
    try:
        stream = session.read(spec, WHOLE)
        found = pa.Table.from_batches(list(stream), stream.schema)
    except SourceError as error:
        return Read(None, {}, {}, (error.message, error.error_class, error.transient))
    found.validate(full=True)
    columns = {name: [exact(value) for value in _plain(found[name]).to_pylist()] for name in found.column_names}
    return Read(found.schema, columns, stream.counts)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times as the numbers they are: Python's own end at the year 9999."""
    listed = pa.types.is_list(column.type)
    inner = column.type.value_type if listed else column.type
    if not pa.types.is_temporal(inner):
        return column
    number = pa.int32() if pa.types.is_date32(inner) else pa.int64()
    return column.cast(pa.list_(number) if listed else number)


def exact(value: object) -> object:
    """Return a value that equals another only when no bit differs."""
    if isinstance(value, float):
        return struct.pack(">d", value)
    return [exact(one) for one in value] if isinstance(value, list) else value
