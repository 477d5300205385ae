"""One open PostgreSQL source."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rivet_core.facts import (
    CatalogFacts,
    InspectItem,
    Mark,
    Mode,
    ReadSpec,
    ServerFacts,
    TableFacts,
    Unit,
    UnitDigest,
    UnitKind,
)
from rivet_core.sql.deltas import DeltaQuestions, with_rows
from rivet_core.sql.select import KeyTypes, SelectItem, is_coalesce, select_unit
from rivet_postgres.catalog.expected import expected_rows
from rivet_postgres.catalog.inspect import inspect_catalog, probe_server
from rivet_postgres.catalog.keys import Place, fetch_bounds, probe_ends, sample_key
from rivet_postgres.catalog.transaction import Catalog
from rivet_postgres.chunks import Keys
from rivet_postgres.connect import Readers, open_catalog
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.digest import unit_digest
from rivet_postgres.engines import choose_engine
from rivet_postgres.failures import translate
from rivet_postgres.paging import page_sql
from rivet_postgres.pool import Lender, Pool
from rivet_postgres.reading import Reading
from rivet_postgres.relation import (
    Relation,
    describe_query_of,
    describe_tables,
    key_types,
    no_such_table,
    page_key,
    select_columns,
)
from rivet_postgres.snapshot import Snapshots
from rivet_postgres.stream import PostgresStream
from rivet_postgres.types import TypeCatalog
from rivet_postgres.units import plan_units

if TYPE_CHECKING:
    from rivet_postgres.options import PostgresOptions

DEFAULT_CONNECTIONS = 4
CATALOG, READER = "catalog", "reader"


def connect(options: PostgresOptions) -> PostgresSession:
    """Return a session; it connects on first use."""
    return PostgresSession(options)


class PostgresSession:
    """A `SourceSession`. Connections of both drivers share one cap; what was described is kept for the session."""

    def __init__(self, options: PostgresOptions) -> None:
        self._endpoint = options.endpoint()
        self._engine = choose_engine(options.engine)
        self._reads_by = CATALOG if self._engine.shares else READER
        self._readers = Readers(self._endpoint)
        openers = {CATALOG: lambda: open_catalog(self._endpoint), READER: self._readers.open}
        self._pool = Pool(openers, DEFAULT_CONNECTIONS)
        self._snapshots = Snapshots(self._pool, CATALOG, self._reads_by)
        self._types = TypeCatalog()
        self._facts: dict[tuple[str | None, str | None], TableFacts] = {}
        self._relations: dict[tuple[str | None, str | None, str], Relation] = {}
        self._keys: dict[Place, Keys] = {}
        self._deltas = DeltaQuestions()
        self._busy: set[Any] = set()
        self._lock = threading.Lock()
        self._describing = threading.RLock()

    def limit(self, connections: int) -> None:
        """Never hold more than this many connections at once; whoever needs another one waits."""
        self._pool.limit(connections)

    def inspect(self, items: Sequence[InspectItem]) -> CatalogFacts:
        """Return the facts of all items in a constant number of statements; no items means the whole catalog."""
        with self._catalog() as catalog:
            facts = inspect_catalog(catalog, self._endpoint, self._types, items, self._keys)
        facts = replace(facts, server=self._noted(facts.server))
        self.recall(items, facts.tables)
        return facts

    def recall(self, items: Sequence[InspectItem], tables: Mapping[str, TableFacts]) -> None:
        """Keep what an inspection found: `units` asks for no table a second time."""
        for item in items:
            table = None if item.query is not None else item.table if item.table is not None else item.name
            self._facts[table, item.query] = tables[item.name]

    def probe(self) -> ServerFacts:
        """Return the live role, lag, load and limits."""
        with self._catalog() as catalog:
            return self._noted(probe_server(catalog, self._endpoint))

    def units(self, spec: ReadSpec, committed: Sequence[Mark]) -> tuple[Unit, ...]:
        """Return what to read, as `SourceSession.units` says."""

        def keys(table: TableFacts, column: str) -> Keys:
            return self._look_up_keys(spec, table, column)

        def sample(columns: Sequence[str], units: int, blocks: int) -> list[tuple[str, ...]]:
            relation = self._relation(spec, "")
            with self._catalog() as catalog:
                return sample_key(catalog, relation, columns, units, blocks)

        units = plan_units(spec, committed, lambda: self._table(spec), keys, sample)
        if spec.query is None and spec.mode in (Mode.INCREMENTAL, Mode.TIME_WINDOW):
            table = self._table(spec)
            if (asked := self._deltas.range_of(table, units)) is not None:
                with self._catalog() as catalog:
                    return with_rows(units, expected_rows(catalog, spec, table, asked))
        return units

    def read(self, spec: ReadSpec, unit: Unit) -> PostgresStream:
        """Start reading one unit on a connection of its own; it goes back when the stream ends or is closed."""
        relation = self._relation(spec, unit.relation)
        cursor = unit.kind is UnitKind.CURSOR
        coalesced = cursor and spec.cursor_mode == "coalesce"
        positions = len(unit.columns) - coalesced if cursor else 0
        key = page_key(relation, self._types, spec, unit)
        selection = select_columns(relation, self._types, spec, unit, positions=positions, key=key, binary=self._engine.binary)
        keys = key_types(relation, self._types, spec, tuple(dict.fromkeys((*unit.columns, *key))))
        count_name, count_sql = self._skipped(spec, unit, relation, keys) if cursor else ("", "")
        reading = Reading(
            spec=spec,
            unit=unit,
            engine=self._engine,
            sql=select_unit(POSTGRES, source=relation.source, items=selection.items, spec=spec, unit=unit, keys=keys),
            pages=page_sql(relation, spec, unit, selection, keys) if key else None,
            selection=selection,
            snapshot=self._exported(spec),
            count_sql=count_sql,
            count_name=count_name,
            cursor_kind=keys.kinds[unit.columns[0]] if cursor else None,
        )
        lender = Lender(take=lambda: self._pool.take(self._reads_by), give=self._give_back)
        if spec.snapshot == "consistent" and spec.parallel <= 1:
            lender = self._snapshots.lender(spec.export)
        return PostgresStream(reading, lender, self._endpoint, self._remember)

    def digest(self, spec: ReadSpec, unit: Unit, columns: Sequence[str]) -> UnitDigest:
        """Let the server add up the rows of a unit, as `DigestingSession.digest` says."""
        relation = self._relation(spec, unit.relation)
        with self._catalog() as catalog:
            return unit_digest(catalog, relation, self._types, spec, unit, columns)

    def end(self, export: str) -> None:
        """Let go what an export holds between its units: the snapshot of `snapshot: consistent`."""
        self._snapshots.end(export)

    def cancel(self) -> None:
        """Cancel every statement of this session at the server."""
        with self._lock:
            busy = list(self._busy)
        for one in busy:
            with suppress(Exception):
                one.cancel()

    def close(self) -> None:
        """Close every connection, cancelling what still runs. Closing twice is fine."""
        self.cancel()
        with self._lock:
            streams = [one for one in self._busy if isinstance(one, PostgresStream)]
        for stream in streams:
            stream.close()
        self._snapshots.close()
        self._pool.close()
        self._readers.close()

    def _noted(self, server: ServerFacts) -> ServerFacts:
        return replace(server, notes=(*server.notes, self._engine.note))

    def _table(self, spec: ReadSpec) -> TableFacts:
        key = (spec.table, spec.query)
        if key not in self._facts:
            name = spec.table if spec.table is not None else spec.export
            columns = (spec.chunk_column,) if spec.chunk_column else ()
            item = InspectItem(name=name, table=spec.table, query=spec.query, columns=columns, chunk_columns=columns)
            self.inspect([item])
        return self._facts[key]

    def _relation(self, spec: ReadSpec, leaf: str) -> Relation:
        """Return what the spec reads; a first look-up describes every inspected table, since their reads will follow."""
        key = (spec.table, spec.query, leaf)
        with self._describing:
            if key not in self._relations:
                with self._catalog() as catalog:
                    self._describe(catalog, spec, leaf)
            return self._relations[key]

    def _describe(self, catalog: Catalog, spec: ReadSpec, leaf: str) -> None:
        if spec.query is not None:
            self._relations[spec.table, spec.query, leaf] = describe_query_of(catalog, self._types, spec)
            return
        name = leaf or spec.table or spec.export
        with self._lock:
            facts = list(self._facts.items())
        known = (table for (table, query), found in facts if table is not None and query is None and not found.problem)
        wanted = [table for table in known if (table, None, "") not in self._relations]
        found = describe_tables(catalog, self._types, list(dict.fromkeys([name, *wanted])))
        if name not in found:
            raise no_such_table(spec, name)
        self._relations |= {(table, None, ""): found[table] for table in wanted if table in found}
        self._relations[spec.table, spec.query, leaf] = found[name]

    def _look_up_keys(self, spec: ReadSpec, table: TableFacts, column: str) -> Keys:
        """Return what the last inspection said of the key, else ask the statistics, else its two ends."""
        place = (table.schema, table.relation, column)
        if table.relation and place not in self._keys:
            with self._catalog() as catalog, catalog.transaction():
                self._keys |= fetch_bounds(catalog, [place])
        known = self._keys.get(place, Keys())
        if known.bounds:
            return known
        relation = self._relation(spec, "")
        with self._catalog() as catalog:
            return probe_ends(catalog, relation, column)

    def _skipped(self, spec: ReadSpec, unit: Unit, relation: Relation, keys: KeyTypes) -> tuple[str, str]:
        """Return what counts the rows that `null_cursor: skip` leaves out, and its name; nothing where there can be none."""
        names = unit.columns[:2] if is_coalesce(spec, unit) else unit.columns[:1]
        columns = [relation.column(name) for name in names]
        nullable = all(column is not None and column.nullable for column in columns)
        outside = POSTGRES.outside_time(keys.kinds[names[0]], spec.out_of_range or "")
        if spec.null_cursor != "skip" or not (nullable or outside):
            return "", ""
        nulls = Unit(index=unit.index, kind=UnitKind.NULLS, columns=names)
        items = (SelectItem(name="rows", verbatim="count(*)"),)
        sql = select_unit(POSTGRES, source=relation.source, items=items, spec=spec, unit=nulls, keys=keys)
        return f"{names[0]}: null cursor skipped", sql

    def _exported(self, spec: ReadSpec) -> str:
        import psycopg

        if spec.snapshot != "consistent":
            return ""
        if spec.parallel <= 1:
            return self._snapshots.state_of(spec.export)
        try:
            return self._snapshots.of(spec.export)
        except psycopg.Error as error:
            raise translate(error, self._endpoint, spec.export) from None

    @contextmanager
    def _catalog(self) -> Iterator[Catalog]:
        """Lend a connection for catalog statements; what the driver raises becomes a `SourceError`."""
        import psycopg

        try:
            with self._pool.use(CATALOG) as connection:
                with self._lock:
                    self._busy.add(connection)
                try:
                    yield Catalog(connection)
                finally:
                    with self._lock:
                        self._busy.discard(connection)
        except psycopg.Error as error:
            raise translate(error, self._endpoint) from None

    def _give_back(self, connection: Any, broken: bool) -> None:
        self._pool.give(self._reads_by, connection, broken=broken)

    def _remember(self, stream: PostgresStream) -> None:
        with self._lock:
            self._busy.add(stream)
        stream.on_end(self._forget)

    def _forget(self, stream: PostgresStream) -> None:
        with self._lock:
            self._busy.discard(stream)
