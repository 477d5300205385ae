"""`inspect`: the facts of all named relations in a constant number of statements."""

from __future__ import annotations

import difflib
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from rivet_core.errors import ConfigError
from rivet_core.facts import CatalogFacts, InspectItem, RelationKind, ServerFacts, TableFacts
from rivet_core.sql.endpoint import Endpoint
from rivet_postgres.catalog import queries
from rivet_postgres.catalog.keys import Place, fetch_bounds
from rivet_postgres.catalog.query import query_facts, view_estimate
from rivet_postgres.catalog.server import server_facts
from rivet_postgres.catalog.tables import Snapshot, table_facts
from rivet_postgres.catalog.transaction import Catalog
from rivet_postgres.chunks import Keys
from rivet_postgres.failures import plain_message, translate
from rivet_postgres.names import TableName, parse_name, written
from rivet_postgres.types import TypeCatalog


@dataclass(slots=True)
class _Asked:
    """What the items turned into: oids by item name, and the names that are no relation."""

    oids: dict[str, int] = field(default_factory=dict)
    problems: dict[str, TableFacts] = field(default_factory=dict)


def inspect_catalog(
    catalog: Catalog, endpoint: Endpoint, types: TypeCatalog, items: Sequence[InspectItem], keys: dict[Place, Keys]
) -> CatalogFacts:
    """Return the server and every item: 10 statements for tables, none of them per table.

    One more when a name is missing, and one for the histogram bounds of all chunk columns, kept in `keys`.

    No items means every relation of the database, for `init`. Queries and named views cost one EXPLAIN each besides.
    """
    started = time.perf_counter()
    try:
        snapshot, server, asked = _tables(catalog, endpoint, types, items, keys, defaults=True)
    except psycopg.errors.LockNotAvailable:
        # Reading a default's text locks its table; somebody took one meanwhile. Everything else does without locks.
        snapshot, server, asked = _tables(catalog, endpoint, types, items, keys, defaults=False)
    tables: dict[str, TableFacts] = dict(asked.problems)
    for name, oid in asked.oids.items():
        tables[name] = table_facts(snapshot, types, name, oid, server)
    for item in items:
        if item.query is not None:
            tables[item.name] = _guarded(catalog, endpoint, types, item, item.query)
        elif (facts := tables.get(item.name)) and facts.kind in (RelationKind.VIEW, RelationKind.FOREIGN) and not facts.problem:
            tables[item.name] = _estimated(catalog, facts, item)
    order = [item.name for item in items] or list(tables)
    return CatalogFacts(
        server=server,
        tables={name: tables[name] for name in order},
        statements=catalog.statements,
        seconds=time.perf_counter() - started,
    )


def _tables(
    catalog: Catalog,
    endpoint: Endpoint,
    types: TypeCatalog,
    items: Sequence[InspectItem],
    keys: dict[Place, Keys],
    *,
    defaults: bool,
) -> tuple[Snapshot, ServerFacts, _Asked]:
    with catalog.transaction():
        asked = _resolve(catalog, items)
        oids = catalog.array(sorted(set(asked.oids.values()))) if asked.oids else ""
        row = catalog.fetch(queries.SERVER)[0]
        relations = catalog.fetch(queries.RELATIONS, {"oids": oids}) if oids else []
        columns = _columns(catalog, oids, relations, defaults=defaults) if oids else []
        catalog.learn_types(types, [column.atttypid for column in columns])
        indexes = catalog.fetch(queries.INDEXES, {"oids": oids}) if oids else []
        keys |= fetch_bounds(catalog, _places(items, asked, relations))
        sizes = _sizes(catalog, [relation.oid for relation in relations])
    info = catalog.connection.info
    server = server_facts(row, address=endpoint.address, info=info, encrypted=_encrypted(catalog))
    return Snapshot.of(row.now, relations, columns, indexes, sizes, user=info.user), server, asked


def _columns(catalog: Catalog, oids: str, relations: Sequence[Any], *, defaults: bool) -> Sequence[Any]:
    names = sorted({row.relname for row in relations if row.depth == 0})
    values = {"oids": oids, "defaults": defaults, "relations": names}
    return catalog.fetch(queries.with_statistics(queries.COLUMNS, len(names)), values)


def _places(items: Sequence[InspectItem], asked: _Asked, relations: Sequence[Any]) -> list[Place]:
    names = {row.oid: (row.nspname, row.relname) for row in relations}
    cut = [item for item in items if item.chunk_columns and item.name in asked.oids]
    wanted = {(asked.oids[item.name], column): None for item in cut for column in item.chunk_columns}
    return [(*names[oid], column) for oid, column in wanted if oid in names]


def _sizes(catalog: Catalog, oids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Measure the files; last in the transaction, since a lock taken meanwhile ends it."""
    if not oids:
        return {}
    try:
        return {
            row.oid: (row.heap or 0, row.toast or 0)
            for row in catalog.fetch(queries.SIZES, {"oids": catalog.array(sorted(set(oids)))})
        }
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled):
        return {}


def _resolve(catalog: Catalog, items: Sequence[InspectItem]) -> _Asked:
    asked = _Asked()
    if not items:
        for row in catalog.fetch(queries.EVERYTHING):
            asked.oids[written(row.nspname, row.relname)] = row.oid
        return asked
    names: dict[str, TableName] = {}
    for item in items:
        if item.query is not None:
            continue
        try:
            names[item.name] = parse_name(item.table if item.table is not None else item.name)
        except ConfigError as error:
            asked.problems[item.name] = _missing(item.name, error.message, error.hint)
    if not names:
        return asked
    values = {"schemas": [name.schema for name in names.values()], "names": [name.relation for name in names.values()]}
    keys = list(names)
    for row in catalog.fetch(queries.RESOLVE, values):
        asked.oids.setdefault(keys[row.place - 1], row.oid)
    if absent := {key: name for key, name in names.items() if key not in asked.oids}:
        asked.problems |= _nearest(catalog, absent)
    return asked


def _nearest(catalog: Catalog, absent: Mapping[str, TableName]) -> dict[str, TableFacts]:
    lowered = [name.relation.lower() for name in absent.values()]
    found = catalog.fetch(queries.NEAREST, {"lowered": lowered, "starts": [text[:3] for text in lowered]})
    known: dict[str, list[str]] = defaultdict(list)
    for row in found:
        known[row.relname.lower()].append(written(row.nspname, row.relname))
    problems = {}
    for key, name in absent.items():
        close = difflib.get_close_matches(name.relation.lower(), known, n=3, cutoff=0.6)
        near = [full for match in close for full in known[match]][:3]
        remedy = f"did you mean {' or '.join(near)}?" if near else "check the name; `rivet init` lists what is there"
        where = f"in the schema {name.schema}" if name.schema else "on the search path"
        problems[key] = _missing(key, f"there is no table {name.relation} {where}", remedy)
    return problems


def _missing(name: str, problem: str, remedy: str) -> TableFacts:
    return TableFacts(name=name, kind=RelationKind.MISSING, problem=problem, remedy=remedy)


def _guarded(catalog: Catalog, endpoint: Endpoint, types: TypeCatalog, item: InspectItem, query: str) -> TableFacts:
    """Return the facts of a query; a query the server refuses is a row with a problem, not the end of the plan."""
    try:
        return query_facts(catalog, types, item, query)
    except ConfigError as error:
        problem, remedy = error.message, error.hint
    except psycopg.Error as error:
        if catalog.connection.closed:
            raise
        fault = translate(error, endpoint)
        problem, remedy = fault.message, fault.hint
    return TableFacts(name=item.name, kind=RelationKind.QUERY, problem=problem, remedy=remedy)


def _estimated(catalog: Catalog, facts: TableFacts, item: InspectItem) -> TableFacts:
    source = TableName(facts.schema, facts.relation).sql
    try:
        return view_estimate(catalog, facts, item.columns, source)
    except psycopg.Error as error:
        if catalog.connection.closed:
            raise
        return replace(facts, notes=(*facts.notes, f"no estimate: {plain_message(error)}"))


def probe_server(catalog: Catalog, endpoint: Endpoint) -> ServerFacts:
    """Return the server alone."""
    with catalog.transaction():
        row: Any = catalog.fetch(queries.SERVER)[0]
    return server_facts(row, address=endpoint.address, info=catalog.connection.info, encrypted=_encrypted(catalog))


def _encrypted(catalog: Catalog) -> bool:
    return bool(catalog.connection.pgconn.ssl_in_use)
