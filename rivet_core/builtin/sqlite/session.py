"""One open SQLite source: inspect, units, read."""

# Identifiers are quoted by the dialect, values are bound.
# ruff: noqa: S608

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from rivet_core.builtin.sqlite import catalog
from rivet_core.builtin.sqlite.connection import CHANGED, Connection
from rivet_core.builtin.sqlite.cursor import TIMES, OrderCheck, check_below, check_one_class, check_window_class
from rivet_core.builtin.sqlite.options import SqliteOptions
from rivet_core.builtin.sqlite.pool import Pool
from rivet_core.builtin.sqlite.read import Shape, SqliteStream
from rivet_core.builtin.sqlite.schema import Table
from rivet_core.builtin.sqlite.statements import aliased, from_item, unit_statement
from rivet_core.builtin.sqlite.types import reading
from rivet_core.builtin.sqlite.units import cursor_plan, units_of
from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import (
    CatalogFacts,
    ColumnFacts,
    InspectItem,
    Mark,
    ReadSpec,
    ServerFacts,
    TableFacts,
    Unit,
    UnitDigest,
    UnitKind,
)
from rivet_core.sql.canonical import digest_of, has_canonical
from rivet_core.sql.dialect import SQLITE
from rivet_core.sql.overrides import parse_override
from rivet_core.sql.select import key_expressions


def connect(options: SqliteOptions) -> SqliteSession:
    """Open the database of `options`. Raises `SourceError` when it is missing, not readable or not a database."""
    session = SqliteSession(options.database())
    try:
        session.probe()
    except BaseException:
        session.close()
        raise
    return session


class SqliteSession:
    """A source session on one file (`SourceSession`), usable from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pool = Pool(path)

    def limit(self, connections: int) -> None:
        """Hold at most this many connections."""
        self._pool.limit(connections)

    def inspect(self, items: Sequence[InspectItem]) -> CatalogFacts:
        """Return the facts of all items; see `catalog.inspect` for the number of statements."""
        try:
            with self._pool.connection() as connection:
                return catalog.inspect(connection, items)
        except SourceError as error:
            if error.code != CHANGED:
                raise
        with self._pool.connection() as connection:
            return catalog.inspect(connection, items)

    def probe(self) -> ServerFacts:
        """Return the engine and the file; a file has no load to show."""
        with self._pool.connection() as connection:
            return catalog.server_facts(connection, datetime.now(UTC))

    def units(self, spec: ReadSpec, committed: Sequence[Mark]) -> tuple[Unit, ...]:
        """Return what to read. Raises `ConfigError` when `spec` cannot be read this way, `SourceError` for a missing table."""
        with self._pool.connection() as connection:
            facts, table = _facts(connection, spec)
            _columns(spec, facts)
            return units_of(connection, spec, facts, table, committed)

    def read(self, spec: ReadSpec, unit: Unit) -> SqliteStream:
        """Start reading one unit in a read transaction of its own."""
        connection = self._pool.acquire(spec.tuning.lock_timeout_seconds)
        try:
            connection.execute("BEGIN")
            return self._stream(connection, spec, unit)
        except sqlite3.Error as error:
            fault = connection.fault(error, f"reading {spec.table or spec.export}")
            self._pool.release(connection)
            raise fault from error
        except BaseException:
            self._pool.release(connection)
            raise

    def _stream(self, connection: Connection, spec: ReadSpec, unit: Unit) -> SqliteStream:
        facts, table = _facts(connection, spec)
        source = from_item(spec, facts)
        shape = _shape(spec, unit, facts, table)
        connection.limit_statement(spec.tuning.statement_timeout_seconds)
        counts: dict[str, int] = {}
        refuse = None
        if unit.kind is UnitKind.CURSOR:
            plan = cursor_plan(spec, facts, table)
            key = key_expressions(SQLITE, spec, unit)[0]
            check_one_class(connection, spec.export, aliased(source), key, plan.kind)
            if plan.kind in TIMES and not spec.allow_text_cursor:
                check_below(connection, spec.export, aliased(source), key, unit.lower)
            if plan.nullable and spec.null_cursor == "skip":
                (skipped,) = connection.execute(f"SELECT count(*) FROM {aliased(source)} WHERE {key} IS NULL").fetchone()
                counts = {f"{plan.positions[0][0]}: null cursor skipped": skipped} if skipped else {}
        elif unit.kind is UnitKind.WINDOW:
            key = key_expressions(SQLITE, spec, unit)[0]
            check_window_class(connection, spec.export, aliased(source), key, unix=spec.time_column_type == "unix")
        elif unit.kind is UnitKind.NULLS and spec.null_cursor == "fail" and spec.cursor:
            refuse = SourceError(
                f"{spec.export}: rows have no value in the cursor {' and '.join(unit.columns)}, and null_cursor is fail",
                hint="fill them in, or set `null_cursor: include`",
                error_class="data",
            )
        statement = unit_statement(spec, unit, facts, source, shape.columns, shape.readings)
        return SqliteStream(connection, self._pool.release, shape, statement, spec.tuning, refuse_rows=refuse, counts=counts)

    def digest(self, spec: ReadSpec, unit: Unit, columns: Sequence[str]) -> UnitDigest:
        """Read the unit and add its rows up: SQLite has no hash functions, and one of ours would run in this process too."""
        stream = self.read(replace(spec, columns=tuple(columns)), unit)
        try:
            covered = [field.name for field in stream.schema if has_canonical(field.type)]
            return replace(digest_of(stream, covered), left_out=tuple(name for name in columns if name not in covered))
        finally:
            stream.close()

    def cancel(self) -> None:
        """Interrupt every statement that runs."""
        self._pool.interrupt()

    def close(self) -> None:
        """Close every connection; closing twice is fine."""
        self._pool.close()


def _facts(connection: Connection, spec: ReadSpec) -> tuple[TableFacts, Table | None]:
    facts, table = catalog.look_up(connection, table=spec.table, query=spec.query)
    if facts.problem:
        raise SourceError(f"{spec.export}: {facts.problem}", hint=facts.remedy, error_class="missing")
    return facts, table


def _columns(spec: ReadSpec, facts: TableFacts) -> list[ColumnFacts]:
    """Return the columns to deliver, in the asked order. Raises `ConfigError` for a name that is not there."""
    for name in (*spec.columns, *spec.overrides):
        if facts.column(name) is None:
            names = [column.name for column in facts.columns]
            near = difflib.get_close_matches(name, names, n=1)
            raise ConfigError(
                f"{spec.export}: {spec.table or 'the query'} has no column {name!r}",
                hint=f"did you mean {near[0]}?" if near else f"its columns are: {', '.join(names[:12])}",
            )
    wanted = [facts.column(name) for name in spec.columns] if spec.columns else list(facts.columns)
    columns = [column for column in wanted if column is not None]
    for column in columns:
        reading(column.source_type, _override(spec, column.name))
    return columns


def _override(spec: ReadSpec, name: str) -> pa.DataType | None:
    asked = spec.overrides.get(name)
    return None if asked is None else parse_override(name, asked)


def _shape(spec: ReadSpec, unit: Unit, facts: TableFacts, table: Table | None) -> Shape:
    columns = _columns(spec, facts)
    visible = len(columns)
    cursor: tuple[tuple[str, str, tuple[int, ...]], ...] = ()
    order = None
    if unit.kind is UnitKind.CURSOR:
        for name in unit.columns:
            if all(column.name != name for column in columns) and (extra := facts.column(name)) is not None:
                columns.append(extra)
        plan = cursor_plan(spec, facts, table)
        places = {column.name: place for place, column in enumerate(columns)}
        spots = [places[name] for name in unit.columns]
        joined = [(spots[0], spots[1]), *((spot,) for spot in spots[2:])] if plan.mode == "coalesce" else [(s,) for s in spots]
        cursor = tuple((name, declared, spot) for (name, declared), spot in zip(plan.positions, joined, strict=True))
        order = OrderCheck(spec.export, plan.positions[0][0], plan.kind, as_text=spec.allow_text_cursor)
    return Shape(
        export=spec.export,
        label=spec.table or spec.export,
        relation=facts.relation,
        key=table.key if table else (),
        rowid=table.rowid if table else "",
        columns=tuple(columns),
        readings=tuple(reading(column.source_type, _override(spec, column.name)) for column in columns),
        visible=visible,
        cursor=cursor,
        order=order,
    )
