"""CSV after RFC 4180: header always, CRLF, NULL an unquoted empty field, an empty text `""`, binary as `\\x` and hex digits.

Times are ISO 8601 (`2024-01-31T08:00:00.000000Z` when zoned; 44 BC is the year `-0043`), UUIDs their usual text, durations
signed `HHH:MM:SS.ffffff`, lists and other nested values JSON. NaN and infinities are `NaN`, `Infinity`, `-Infinity`. A
one-column row that is NULL is an empty line: that is what the rules give.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rivet_core.facts import ExportSpec
from rivet_core.running.moments import iso_texts, plain_values
from rivet_core.running.statistics import ColumnStatistics
from rivet_core.stores import Part

EOL = "\r\n"
SLICE_ROWS = 1 << 16
"""Rows turned to text at once: bounds the memory of one wide batch."""
_TEXT = pa.large_string()


class CsvFile:
    """One CSV file on its way into a part."""

    def __init__(self, part: Part, schema: pa.Schema, spec: ExportSpec) -> None:
        self._part = part
        self._statistics = ColumnStatistics(schema, bounds=True)
        part.write((",".join(_header(field.name) for field in schema) + EOL).encode("utf-8", "surrogatepass"))

    @property
    def size(self) -> int:
        """Bytes of the file so far."""
        return self._part.bytes

    def add(self, batches: list[pa.RecordBatch]) -> None:
        """Append the rows."""
        for batch in batches:
            self._statistics.add(batch)
            step = max(1, min(SLICE_ROWS, int(SLICE_ROWS * 1024 / max(1, batch.nbytes / max(1, batch.num_rows)))))
            for start in range(0, batch.num_rows, step):
                self._part.write(rows_text(batch.slice(start, step)))

    def finish(self) -> ColumnStatistics:
        """Nothing ends a CSV file."""
        return self._statistics

    def abandon(self) -> None:
        """Drop the part."""
        self._part.abort()


def rows_text(batch: pa.RecordBatch) -> memoryview:
    """Return the bytes of the rows of a batch, line ends included."""
    fields = [pc.fill_null(field_text(column), "") for column in batch.columns]
    # The line end belongs to the last field, so that only that one is copied once more.
    fields[-1] = pc.binary_join_element_wise(fields[-1], pa.scalar(EOL, _TEXT), pa.scalar("", _TEXT))
    ended = pc.binary_join_element_wise(*fields, pa.scalar(",", _TEXT)) if len(fields) > 1 else fields[0]
    # The values of an Arrow text array lie one behind the other: its data buffer is the file's next piece.
    _, offsets, data = ended.buffers()
    bounds = memoryview(offsets).cast("q")
    start, end = bounds[ended.offset], bounds[ended.offset + len(ended)]
    return memoryview(data)[start:end]


def field_text(column: pa.Array) -> pa.Array:
    """Return the column's values as CSV fields, NULL where they are NULL."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return field_text(column.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return _each(column.storage, lambda value: str(uuid.UUID(bytes=value)))
        return field_text(column.storage)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return quoted(column.cast(_TEXT))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return _each(column, lambda value: "\\x" + value.hex())
    if pa.types.is_floating(kind):
        text = column.cast(_TEXT)
        if not pc.all(pc.is_finite(column), skip_nulls=True).as_py():
            for plain, spelled in (("^-?nan$", "NaN"), ("inf$", "Infinity")):
                text = pc.replace_substring_regex(text, plain, spelled)
        return text
    if pa.types.is_decimal(kind):
        text = column.cast(pa.string()).cast(_TEXT)
        short = pc.match_substring(text, "E")
        return _each(column, lambda value: format(value, "f")) if pc.any(short).as_py() else text
    if pa.types.is_timestamp(kind):
        text, nothing = iso_texts(column), pa.scalar("", _TEXT)
        return pc.binary_join_element_wise(text, pa.scalar("Z", _TEXT), nothing) if kind.tz else text
    if pa.types.is_duration(kind):
        return _each(column.cast(pa.duration("us")).cast(pa.int64()), clock)
    if pa.types.is_nested(kind):
        return quoted(_each(column, lambda value: json.dumps(value, ensure_ascii=False, default=_json)))
    if pa.types.is_null(kind):
        return pa.nulls(len(column), _TEXT)
    if pa.types.is_date(kind):
        return iso_texts(column)
    return column.cast(pa.string()).cast(_TEXT)


def quoted(text: pa.Array) -> pa.Array:
    """Put quotes round fields that need them: empty ones, and those with a quote, comma, line end, or outer blank."""
    needs = pc.match_substring_regex(text, r'^$|[",\r\n]|^\s|\s$')
    if not pc.any(needs, skip_nulls=True).as_py():
        return text
    mark, nothing = pa.scalar('"', _TEXT), pa.scalar("", _TEXT)
    wrapped = pc.binary_join_element_wise(mark, pc.replace_substring(text, '"', '""'), mark, nothing)
    return pc.if_else(needs, wrapped, text)


def _header(name: str) -> str:
    # In plain Python: pa.array() of a list would import pandas where that is installed, which takes longer than a small export.
    needs = not name or name != name.strip() or any(char in name for char in '",\r\n')
    return '"' + name.replace('"', '""') + '"' if needs else name


def clock(micros: int) -> str:
    """Return a signed duration as `[-]HH:MM:SS.ffffff`; hours may pass 24."""
    seconds, fraction = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}"


def _each(column: pa.Array, text: Any) -> pa.Array:
    return pa.array([None if value is None else text(value) for value in plain_values(column)], _TEXT)


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
