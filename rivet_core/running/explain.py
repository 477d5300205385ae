"""What happened after a run and explains a difference: rows added past its boundary, rows whose cursor moved past it.

An explanation is proven, not guessed: the source is asked again up to the boundary, or the files are added up without the rows
that a later run or the source itself holds past the boundary; only equal numbers count. Anything else stays a mismatch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import pyarrow as pa

from rivet_core.api import SourceSession
from rivet_core.errors import ConfigError
from rivet_core.facts import ExportSpec, InspectItem, Mark, ReadSpec, TableFacts, TypeKind, Unit, UnitDigest, UnitKind
from rivet_core.facts.plural import several
from rivet_core.running.filerows import covered_columns, digest_parts, part_texts
from rivet_core.running.publish import Dataset
from rivet_core.running.slices import Slice
from rivet_core.sql.canonical import canonical
from rivet_core.sql.marks import MICROS_PER_DAY, date_text, micros_of, timestamp_text

MOMENTS = (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)
Key = tuple[str | None, ...]


class Explainer:
    """Looks for what explains the differences of one export."""

    def __init__(
        self,
        spec: ExportSpec,
        dataset: Dataset,
        session: SourceSession,
        slices: Sequence[Slice],
        of_source: Callable[[Unit, Sequence[str]], UnitDigest],
        of_files: Callable[[Slice, Sequence[str]], UnitDigest],
    ) -> None:
        self._spec = spec
        self._dataset = dataset
        self._session = session
        self._slices = slices
        self._of_source = of_source
        self._of_files = of_files

    def explain(self, item: Slice, columns: Sequence[str], files: UnitDigest, source: UnitDigest) -> str:
        """Return what explains the difference of a unit in words, empty for nothing."""
        if item.unit.kind is UnitKind.CURSOR or (item.unit.kind is UnitKind.NULLS and item.manifest.has_nulls):
            return self._moved(item, columns)
        return self._added(item, columns, files, source) if item.open else ""

    def _added(self, item: Slice, columns: Sequence[str], files: UnitDigest, source: UnitDigest) -> str:
        """Rows past the greatest key that the run wrote."""
        if not item.rows:
            return f"{several(source.rows, 'row')} added: the run had found none" if not files.rows else ""
        edge = self._edge(item)
        if edge is None or source.rows <= files.rows:
            return ""
        kind = UnitKind.RANGE if item.unit.kind is UnitKind.WHOLE else item.unit.kind
        inside = replace(item.unit, kind=kind, columns=item.unit.columns or (edge.column,), upper=(edge,), upper_inclusive=True)
        found = self._of_source(inside, columns)
        if (found.rows, found.total) != (files.rows, files.total):
            return ""
        return f"{several(source.rows - files.rows, 'row')} added past {edge.column} {edge.value}"

    def _edge(self, item: Slice) -> Mark | None:
        """Return the greatest key the run wrote, where its order needs no collation."""
        names = item.unit.columns or self._table.primary_key
        column = self._table.column(names[0]) if names else None
        if column is None or column.name in self._spec.overrides:
            return None
        kind = self._arrow_type(item, column.name)
        values = [(part.columns.get(column.name) or {}).get("max") for part in item.parts if part.rows]  # type: ignore[union-attr]
        if not values or any(not isinstance(value, str) for value in values):
            return None
        texts = [str(value) for value in values]
        if column.kind is TypeKind.INTEGER or kind.startswith(("int", "uint")):
            text = str(max(map(int, texts)))
        elif column.kind in MOMENTS and kind.startswith(("timestamp", "date")):
            micros = max(map(micros_of, texts))
            zoned = column.kind is TypeKind.TIMESTAMPTZ
            text = date_text(micros // MICROS_PER_DAY) if kind.startswith("date") else timestamp_text(micros, zoned=zoned)
        elif column.kind in MOMENTS and kind == "string":  # kept as text, which is how that source compares it
            text = max(texts)
        else:
            return None
        return Mark(column=column.name, type=column.source_type, value=text)

    def _moved(self, item: Slice, columns: Sequence[str]) -> str:
        """Rows that lie past the boundary now, in a later run or in the source alone."""
        key = self._key(item)
        if not key:
            return ""
        gone = self._later_keys(item.place, key)
        if not gone:
            return ""
        left: set[Key] = set()

        def keep(texts: dict[str, pa.Array]) -> pa.Array:
            keys = _keys([texts[name] for name in key])
            left.update(found for found in keys if found in gone)
            return pa.array([found not in gone for found in keys], pa.bool_())

        unit = item.unit
        if item.next_lower:
            unit = replace(unit, upper=item.next_lower, upper_inclusive=not item.next_inclusive)
        files = digest_parts(self._dataset.store, item.manifest, item.parts, columns, keep=keep, also=key)
        source = self._of_source(unit, columns)
        if (files.rows, files.total) != (source.rows, source.total):
            return ""
        return f"{several(len(left), 'row')} moved past the run's boundary"

    def _later_keys(self, place: int, key: tuple[str, ...]) -> set[Key]:
        """Return the keys of all rows that later runs, and the source past the last of them, hold."""
        found = set(self._past_keys(key))
        for item in self._slices:
            if item.place > place and item.unit.kind is UnitKind.CURSOR:
                for part in item.parts:
                    for texts in part_texts(self._dataset.store, item.manifest, part, key):
                        found.update(_keys([texts[name] for name in key]))
        return found

    def _past_keys(self, key: tuple[str, ...]) -> list[Key]:
        """Read the keys of the rows past the dataset's cursor: what the next run would read, and no more columns."""
        last = next(item for item in reversed(self._slices) if item.unit.kind is UnitKind.CURSOR)
        unit = replace(last.unit, lower=last.unit.upper, lower_inclusive=False, upper=())
        stream = self._session.read(replace(ReadSpec.of(self._spec), columns=key, lookback_seconds=None), unit)
        try:
            return [found for batch in stream for found in _keys([canonical(batch.column(name)) for name in key])]
        finally:
            stream.close()

    def _key(self, item: Slice) -> tuple[str, ...]:
        """Return what tells the rows of the export apart, empty when nothing is known or it is not in the files."""
        cursor = 2 if self._spec.cursor_fallback_column else 1
        key = self._table.primary_key or item.unit.columns[cursor:]
        covered, _ = covered_columns(item.manifest)
        known = bool(key) and all(name in covered and name not in self._spec.overrides for name in key)
        has_cursor = any(other.unit.kind is UnitKind.CURSOR for other in self._slices)
        return tuple(key) if known and has_cursor else ()

    def _arrow_type(self, item: Slice, name: str) -> str:
        fields = [field for field in item.manifest.schema if isinstance(field, dict) and field.get("name") == name]
        return str(fields[0]["type"]) if fields else ""

    @cached_property
    def _table(self) -> TableFacts:
        spec = self._spec
        name = spec.table if spec.table is not None else spec.name
        try:
            found = self._session.inspect([InspectItem(name=name, table=spec.table, query=spec.query)])
        except ConfigError:
            return TableFacts(name=name)
        return found.tables.get(name) or TableFacts(name=name)


def _keys(columns: Sequence[pa.Array]) -> list[Key]:
    return list(zip(*(column.to_pylist() for column in columns), strict=True))
