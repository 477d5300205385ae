"""The folder, opened: facts, units and streams. Every read opens its file anew, so threads share nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rivet_core.errors import ConfigError
from rivet_core.facts import (
    CatalogFacts,
    InspectItem,
    Mark,
    Mode,
    ReadSpec,
    ServerFacts,
    TableFacts,
    TypeKind,
    Unit,
    UnitDigest,
    UnitKind,
)
from rivet_core.sql.canonical import digest_of
from rivet_core.sql.cursor_plan import cursor_units, plan_cursor
from rivet_core.sql.ranges import integer_cuts, tile, unit_count
from rivet_csvdir.folder import columns_of, facts_of, file_of, probe, tables
from rivet_csvdir.options import Options, Table, read_type
from rivet_csvdir.stream import Stream


class Session:
    """One open folder. Used from several threads."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._epoch = 0

    def limit(self, connections: int) -> None:
        """Nothing to hold: a file is open only while a stream reads it."""

    def inspect(self, items: Sequence[InspectItem]) -> CatalogFacts:
        """Return the facts of all items; no items: every file of the folder."""
        server = self.probe()
        asked = list(items) or [InspectItem(name=name, table=name) for name in tables(self._options)]
        return CatalogFacts(server=server, tables={item.name: facts_of(self._options, item) for item in asked}, statements=0)

    def probe(self) -> ServerFacts:
        """Return the folder as a server."""
        return probe(self._options)

    def units(self, spec: ReadSpec, committed: Sequence[Mark]) -> tuple[Unit, ...]:
        """Return what to read. Chunks look at the key column once, for its ends."""
        file_of(self._options, spec.table)
        facts = facts_of(self._options, InspectItem(name=spec.table or "", table=spec.table))
        if spec.overrides:
            raise ConfigError(f"{spec.export}: a folder's types stand under its source", hint="tables: {NAME: {columns: ...}}")
        if spec.mode is Mode.FULL:
            return (Unit(index=0, kind=UnitKind.WHOLE),)
        if spec.mode is Mode.INCREMENTAL and spec.cursor_mode != "coalesce":
            return cursor_units(spec, plan_cursor(spec, facts), committed)
        if spec.mode is Mode.CHUNKED:
            return self._chunks(spec, facts)
        raise ConfigError(
            f"{spec.export}: a folder of files cannot be read so", hint="mode: full, chunked, or incremental by one column"
        )

    def _chunks(self, spec: ReadSpec, facts: TableFacts) -> tuple[Unit, ...]:
        name = spec.chunk_column or next(iter(facts.primary_key), "")
        column = facts.column(name)
        if column is None or column.kind is not TypeKind.INTEGER:
            raise ConfigError(
                f"{spec.export}: chunks need a column of type bigint", hint="set `chunk_column`, or `key` of the table"
            )
        types = csv.ConvertOptions(include_columns=[name], column_types={name: pa.int64()}, null_values=[""])
        parse = csv.ParseOptions(delimiter=self._options.delimiter, newlines_in_values=True)
        keys = csv.read_csv(file_of(self._options, spec.table), parse_options=parse, convert_options=types)[name]
        ends = pc.min_max(keys).as_py()
        if ends["min"] is None:
            return (Unit(index=0, kind=UnitKind.WHOLE, rows=len(keys)),)
        count = unit_count(len(keys), spec.chunk_size, spec.chunk_count)
        cuts = integer_cuts(low=ends["min"], high=ends["max"], units=count, rows=len(keys))
        return tile(name, column.source_type, [str(cut) for cut in cuts], rows=len(keys), nullable=column.nullable)

    def read(self, spec: ReadSpec, unit: Unit) -> Stream:
        """Start reading one unit."""
        path = file_of(self._options, spec.table)
        table = self._options.tables.get(spec.table or "", Table())
        columns = columns_of(path, self._options, table)
        fields = [
            pa.field(column.name, read_type(table.columns.get(column.name, "text"))[1], nullable=column.nullable)
            for column in columns
        ]
        epoch = self._epoch
        return Stream(path, pa.schema(fields), self._options.delimiter, spec, unit, lambda: self._epoch != epoch)

    def digest(self, spec: ReadSpec, unit: Unit, columns: Sequence[str]) -> UnitDigest:
        """Read the unit and add its rows up, for `rivet reconcile`: files cannot hash."""
        stream = self.read(spec, unit)
        try:
            return digest_of(stream, columns)
        finally:
            stream.close()

    def cancel(self) -> None:
        """End every stream that is open now."""
        self._epoch += 1

    def close(self) -> None:
        """Close. Closing twice is fine."""
        self.cancel()


def connect(options: Options) -> Session:
    """Open the folder. Raises `SourceError` when it is not there."""
    probe(options)
    return Session(options)
