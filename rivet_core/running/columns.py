"""Columns that Rivet adds, and the directories that a column's values become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from rivet_core.errors import ConfigError
from rivet_core.facts import ExportSpec
from rivet_core.running.csvtext import field_text
from rivet_core.running.moments import iso_texts
from rivet_core.stores import segment

EXPORTED_AT = pa.field("_rivet_exported_at", pa.timestamp("us", tz="UTC"), nullable=False)
ROW_HASH = pa.field("_rivet_row_hash", pa.int64(), nullable=False)
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The directory of rows whose partition column is NULL, as Hive-style readers know it."""


class AddedColumns:
    """`meta_columns`: `exported_at`, when a row was read, and `row_hash` over all columns or those listed."""

    def __init__(self, spec: ExportSpec, schema: pa.Schema) -> None:
        self._at = bool(spec.meta_columns.get("exported_at"))
        wanted = spec.meta_columns.get("row_hash")
        self._hashed: Sequence[str] = []
        if wanted:
            self._hashed = [str(name) for name in wanted] if isinstance(wanted, list) else schema.names
        missing = [name for name in self._hashed if name not in schema.names]
        if missing:
            raise ConfigError(
                f"{spec.name}: meta_columns.row_hash names {missing[0]!r}, which is not read",
                hint=f"columns: {', '.join(schema.names)}",
            )
        added = [field for field, on in ((EXPORTED_AT, self._at), (ROW_HASH, bool(self._hashed))) if on]
        self.schema = schema
        taken = next((field.name for field in added if field.name in schema.names), None)
        if taken:
            raise ConfigError(
                f"{spec.name}: meta_columns adds {taken}, and the source has a column of that name",
                hint="leave it out under `columns`, or rename it in a `query`",
            )
        for field in added:
            self.schema = self.schema.append(field)

    def extend(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with the added columns at its end."""
        if self.schema is batch.schema or (not self._at and not self._hashed):
            return batch
        columns = list(batch.columns)
        if self._at:
            columns.append(pa.array([datetime.now(UTC)] * batch.num_rows, EXPORTED_AT.type))
        if self._hashed:
            columns.append(row_hashes(batch.select(self._hashed)))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def row_hashes(batch: pa.RecordBatch) -> pa.Array:
    """Return a signed xxh3-64 per row over its CSV fields, which tell NULL from empty and one value from its neighbour."""
    text = pa.large_string()
    fields = [pc.fill_null(field_text(column), "") for column in batch.columns]
    lines = pc.binary_join_element_wise(*fields, pa.scalar(",", text)) if len(fields) > 1 else fields[0]
    hashes = [xxhash.xxh3_64_intdigest(line) for line in lines.cast(pa.large_binary()).to_pylist()]
    return pa.array([value - (1 << 64) if value >> 63 else value for value in hashes], pa.int64())


class Partitioner:
    """`partition_by`: rows of one value go below `column=value/`; times in buckets of a day, month or year."""

    def __init__(self, spec: ExportSpec, schema: pa.Schema) -> None:
        self._columns = spec.partition_by
        self._granularity = spec.partition_granularity
        for name in self._columns:
            if name not in schema.names:
                raise ConfigError(
                    f"{spec.name}: partition_by names {name!r}, which is not read", hint=f"columns: {', '.join(schema.names)}"
                )
            if pa.types.is_nested(schema.field(name).type):
                raise ConfigError(
                    f"{spec.name}: partition_by names {name!r}, whose values are lists",
                    hint="partition by a column of single values",
                )

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield `(directory, rows)` per partition, in order of first appearance; one empty directory name without any."""
        if not self._columns:
            yield "", batch
            return
        keys = None
        for name in self._columns:
            level = self._directories(name, batch.column(name))
            keys = level if keys is None else pc.binary_join_element_wise(keys, level, "/")
        encoded = pc.dictionary_encode(keys)
        for place, directory in enumerate(encoded.dictionary.to_pylist()):
            yield directory, batch.filter(pc.equal(encoded.indices, place))

    def _directories(self, name: str, column: pa.Array) -> pa.Array:
        kind = column.type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            # From the end of the date, since a year may have more than four digits, and a sign.
            day = pc.replace_substring_regex(iso_texts(column), "T.*", "")
            cut = {"year": -6, "month": -3}.get(self._granularity)
            text = day if cut is None else pc.utf8_slice_codeunits(day, 0, cut)
        elif pa.types.is_binary(kind) or (
            isinstance(kind, pa.BaseExtensionType) and pa.types.is_fixed_size_binary(kind.storage_type)
        ):
            text = field_text(column)  # an uuid, or bytes as hex digits
        else:
            text = (column.storage if isinstance(column, pa.ExtensionArray) else column).cast(pa.string())
        encoded = pc.dictionary_encode(text)
        prefix = _side(name)
        # The text that is the name of the NULL directory must not lie in it; readers decode the percent sign.
        own = {NULL_PARTITION: f"%{ord(NULL_PARTITION[0]):02X}{NULL_PARTITION[1:]}"}
        names: list[Any] = [f"{prefix}={own.get(value) or _side(value)}" for value in encoded.dictionary.to_pylist()]
        names = pa.array(names, pa.string())
        return pc.fill_null(pc.take(names, encoded.indices), f"{prefix}={NULL_PARTITION}")


def _side(text: str) -> str:
    """Return what stands on one side of the equals sign; another one would leave readers to guess which is meant."""
    return segment(text).replace("=", "%3D")
