"""The reference engine: PyMySQL, unbuffered, every value as the server's own text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pymysql
from pymysql.cursors import SSCursor

from rivet_core.facts import Tuning
from rivet_mysql.connection import Link
from rivet_mysql.faults import source_error

LOT_ROWS = 2000
LOT_ROWS_LONG = 8
"""Rows fetched before their size is looked at: where values are bounded, and where one may be many megabytes."""
CELL_BYTES = 40
"""What Python needs for one small value while it waits for its batch."""


def read_rows(
    link: Link, sql: str, wires: Sequence[pa.DataType], tuning: Tuning, *, long: bool, doing: str
) -> Iterator[pa.RecordBatch]:
    """Yield batches of about `batch_bytes`. Raises `SourceError`; an answer that breaks off is one, never an end."""
    names = [str(place) for place in range(len(wires))]
    schema = pa.schema([pa.field(name, wire) for name, wire in zip(names, wires, strict=True)])
    link.statements += 1
    cursor = SSCursor(link.raw)
    try:
        cursor.execute(sql)
        while rows := _gather(cursor, tuning, LOT_ROWS_LONG if long else LOT_ROWS, len(wires)):
            columns = zip(*rows, strict=True)
            arrays = [_array(values, wire) for values, wire in zip(columns, wires, strict=True)]
            del rows
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
    except (pymysql.MySQLError, OSError, pa.ArrowInvalid) as error:
        raise source_error(error, link.endpoint, doing) from error
    finally:
        _abandon(cursor)


def _abandon(cursor: SSCursor) -> None:
    """Keep PyMySQL from reading the rest of an answer that nobody wants; the connection is then thrown away."""
    result = cursor._result  # type: ignore[attr-defined]
    if result is not None:
        result.unbuffered_active = False
    cursor.connection = None  # type: ignore[assignment]


def _gather(cursor: SSCursor, tuning: Tuning, lot: int, width: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    size = 0
    most = tuning.batch_rows or (1 << 62)
    while size < tuning.batch_bytes and len(rows) < most:
        got = cursor.fetchmany(min(lot, most - len(rows)))
        if not got:
            break
        rows += got
        size += sum(len(value) for row in got for value in row if value is not None) + len(got) * width * CELL_BYTES
    return rows


def _array(values: Sequence[bytes | None], wire: pa.DataType) -> pa.Array:
    raw = pa.array(values, pa.binary())
    if pa.types.is_binary(wire):
        return raw
    text = raw.cast(pa.string())
    return text if pa.types.is_string(wire) else text.cast(wire)
