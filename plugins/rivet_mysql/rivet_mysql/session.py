"""One open MySQL or MariaDB source: inspect, probe, units, read, cancel."""

# Identifiers and literals are quoted by the dialect.
# ruff: noqa: S608

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence

from rivet_core.errors import SourceError
from rivet_core.facts import (
    CatalogFacts,
    InspectItem,
    Mark,
    ReadSpec,
    RelationKind,
    ServerFacts,
    TableFacts,
    Tuning,
    Unit,
    UnitDigest,
    UnitKind,
)
from rivet_core.sql.deltas import DeltaQuestions, with_rows
from rivet_core.sql.endpoint import Endpoint
from rivet_core.sql.querytext import ALIAS, derived_table
from rivet_core.sql.select import KeyTypes, is_coalesce, where_unit
from rivet_mysql.catalog.estimate import expected_delta
from rivet_mysql.catalog.inspect import inspect, look_up
from rivet_mysql.catalog.query import describe_query, query_columns
from rivet_mysql.catalog.server import server_sheet
from rivet_mysql.connection import Link, Server, ask_server, number
from rivet_mysql.dialect import MYSQL
from rivet_mysql.options import MysqlOptions
from rivet_mysql.pool import Pool
from rivet_mysql.reading.columnar import can_connect
from rivet_mysql.reading.columns import Column, chosen_columns
from rivet_mysql.reading.digest import unit_digest
from rivet_mysql.reading.statement import Statements, cursor_positions, page_positions
from rivet_mysql.reading.stream import MysqlStream, Task
from rivet_mysql.reading.units import cursor_plan, units_of

KNOWN_SECONDS = 60.0
CATALOG = Tuning(statement_timeout_seconds=30.0, lock_timeout_seconds=5.0)
"""Limits of a statement that only looks into the catalog."""


def connect(options: MysqlOptions) -> MysqlSession:
    """Open the source of `options`. Raises `SourceError` when the server cannot be reached or refuses the account."""
    session = MysqlSession(options.endpoint(), fast=options.engine == "auto")
    session.open()
    return session


class MysqlSession:
    """A source session on one server (`SourceSession`), usable from several threads."""

    def __init__(self, endpoint: Endpoint, *, fast: bool = True) -> None:
        self.endpoint = endpoint
        self._fast = fast and can_connect(endpoint)
        self._pool = Pool(lambda: Link(endpoint), limit=4)
        self._server: Server | None = None
        self._streams: set[MysqlStream] = set()
        self._tables: dict[str, tuple[float, TableFacts | None]] = {}
        self._inspected: dict[str, tuple[float, TableFacts]] = {}
        self._deltas = DeltaQuestions()
        self._lock = threading.Lock()

    @property
    def server(self) -> Server:
        """What the server is; asked once."""
        if self._server is None:
            self.open()
        assert self._server is not None  # noqa: S101 - open() raises or sets it
        return self._server

    def open(self) -> None:
        """Connect for the first time."""
        with self._pool.link() as link:
            self._server = ask_server(link)

    def limit(self, connections: int) -> None:
        """Hold at most this many connections."""
        self._pool.limit(connections)

    def inspect(self, items: Sequence[InspectItem]) -> CatalogFacts:
        """Return the facts of all items; see `catalog.inspect` for the number of statements."""
        server = self.server
        with self._pool.link() as link:
            link.apply(server.settings(CATALOG))
            facts = inspect(link, server, self.endpoint.address, items)
        self.recall(items, facts.tables)
        return facts

    def recall(self, items: Sequence[InspectItem], tables: Mapping[str, TableFacts]) -> None:
        """Keep what an inspection found: planning asks for the units of every table next, and none is looked up alone."""
        now = time.monotonic()
        seen = [(item.table or item.name, tables[item.name]) for item in items if item.query is None]
        with self._lock:
            self._inspected |= {name: (now, table) for name, table in seen if not table.problem}

    def probe(self) -> ServerFacts:
        """Return the live role, lag, load and limits."""
        server = self.server
        with self._pool.link() as link:
            link.apply(server.settings(CATALOG))
            return server_sheet(link, server, self.endpoint.address).facts

    def units(self, spec: ReadSpec, committed: Sequence[Mark]) -> tuple[Unit, ...]:
        """Return what to read. Raises `ConfigError` when `spec` cannot be read this way, `SourceError` for a missing table."""
        server = self.server
        with self._pool.link() as link:
            link.apply(server.settings(CATALOG))
            with self._lock:
                self._tables.pop(spec.table or "", None)
                at, seen = self._inspected.get(spec.table or "", (0.0, None))
            fresh = spec.query is None and seen is not None and time.monotonic() - at <= KNOWN_SECONDS
            facts = seen if fresh and seen is not None else self._facts(link, spec)
            chosen_columns(spec, facts)
            units = units_of(link, spec, facts, committed)
            asked = self._deltas.range_of(facts, units) if spec.query is None else None
            return units if asked is None else with_rows(units, expected_delta(link, server, spec, facts, asked))

    def read(self, spec: ReadSpec, unit: Unit) -> MysqlStream:
        """Start reading one unit: the columns are known now, the rows come when the stream is iterated."""
        settings = self.server.settings(spec.tuning)
        with self._pool.link() as link:
            link.apply(settings)
            facts = self._facts(link, spec)
            task = self._task(link, spec, unit, facts, settings)
        stream = MysqlStream(task, self._pool, self.endpoint, self._kill, self._finished)
        with self._lock:
            self._streams.add(stream)
        return stream

    def digest(self, spec: ReadSpec, unit: Unit, columns: Sequence[str]) -> UnitDigest:
        """Let the server add up the rows of a unit, as `DigestingSession.digest` says."""
        settings = self.server.settings(spec.tuning)
        with self._pool.link() as link:
            link.apply(settings)
            return unit_digest(link, spec, unit, self._facts(link, spec), columns)

    def cancel(self) -> None:
        """Cancel every statement of this session at the server."""
        with self._lock:
            running = [stream.cancel() for stream in self._streams]
        threads = {thread for found, _ in running for thread in found} | set(self._pool.threads())
        self._kill(sorted(threads), [token for _, found in running for token in found])

    def close(self) -> None:
        """Close every connection; closing twice is fine."""
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            stream.close()
        self._pool.close()

    def _finished(self, stream: MysqlStream) -> None:
        with self._lock:
            self._streams.discard(stream)

    def _facts(self, link: Link, spec: ReadSpec) -> TableFacts:
        if spec.query is not None:
            described = describe_query(link, spec.query, f"describing {spec.export}")
            return TableFacts(name=spec.export, kind=RelationKind.QUERY, columns=query_columns(described))
        facts = self._known(link, spec.table or "")
        if facts.problem:
            missing = facts.kind is RelationKind.MISSING
            raise SourceError(
                f"{spec.export}: {facts.problem}", hint=facts.remedy, error_class="missing" if missing else "permission"
            )
        return facts

    def _known(self, link: Link, table: str) -> TableFacts:
        """Return what a table is. Looked up again after a minute: the units of an export come one after the other."""
        with self._lock:
            at, facts = self._tables.get(table, (0.0, None))
        if facts is None or time.monotonic() - at > KNOWN_SECONDS:
            facts = look_up(link, self.server, table)
            if not facts.problem:
                with self._lock:
                    self._tables[table] = (time.monotonic(), facts)
        return facts

    def _task(self, link: Link, spec: ReadSpec, unit: Unit, facts: TableFacts, settings: tuple[str, ...]) -> Task:
        columns = chosen_columns(spec, facts)
        counts: dict[str, int] = {}
        if unit.kind is UnitKind.CURSOR:
            plan = cursor_plan(spec, facts)
            positions, paged = cursor_positions(spec, unit, facts, plan.positions, plan.kind, unique=not plan.inclusive)
            if plan.nullable and spec.null_cursor == "skip":
                counts = _skipped(link, spec, unit, facts, plan.positions[0][0])
        else:
            positions = page_positions(spec, unit, facts)
            paged = bool(positions)
        refuse = None
        if unit.kind is UnitKind.NULLS and spec.null_cursor == "fail" and spec.cursor:
            refuse = SourceError(
                f"{spec.export}: rows have no value in the cursor {' and '.join(unit.columns)}, and null_cursor is fail",
                hint="fill them in, or set `null_cursor: include`",
                error_class="data",
            )
        statements = Statements(spec, unit, facts, columns, positions, paged=paged)
        return Task(
            spec=spec,
            statements=statements,
            settings=settings,
            columnar=self._fast,
            moves=unit.kind is UnitKind.CURSOR,
            srids=_srids(link, statements, columns),
            counts=counts,
            refuse_rows=refuse,
        )

    def _kill(self, threads: Sequence[int], tokens: Sequence[str]) -> None:
        """Cancel statements by the connection they run on, or by the mark they carry. What has ended by itself is fine."""
        if not threads and not tokens:
            return
        with contextlib.suppress(SourceError):
            link = Link(self.endpoint)
            try:
                found = list(threads)
                for token in tokens:
                    rows = link.rows(
                        f"SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND INFO LIKE '%{token}%'",
                        doing="looking for the statement",
                    )
                    found += [thread for (value,) in rows if (thread := number(value)) is not None]
                for thread in found:
                    with contextlib.suppress(SourceError):
                        link.rows(f"KILL QUERY {thread}", doing="cancelling a statement")
            finally:
                link.close()


def _skipped(link: Link, spec: ReadSpec, unit: Unit, facts: TableFacts, name: str) -> dict[str, int]:
    nulls = Unit(index=unit.index, kind=UnitKind.NULLS, columns=unit.columns[: 2 if is_coalesce(spec, unit) else 1])
    without = " AND ".join(where_unit(MYSQL, spec=spec, unit=nulls, keys=KeyTypes.of(facts.columns)))
    table = f"{MYSQL.qualified((facts.schema, facts.relation))} AS {ALIAS}"
    source = derived_table(MYSQL, spec.query) if spec.query is not None else table
    count = number(link.rows(f"SELECT COUNT(*) FROM {source} WHERE {without}", doing=f"counting rows without {name}")[0][0])
    return {f"{name}: null cursor skipped": count} if count else {}


def _srids(link: Link, statements: Statements, columns: Sequence[Column]) -> dict[str, int]:
    found = {}
    for column in columns:
        if column.how.geometry:
            rows = link.rows(statements.srid(column), doing=f"looking at the SRID of {column.name}")
            found[column.name] = (number(rows[0][0]) or 0) if rows else 0
    return found
