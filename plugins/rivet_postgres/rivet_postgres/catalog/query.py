"""A query's columns and cost, without running it: described by a parse, costed by one EXPLAIN."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from psycopg.errors import QueryCanceled

from rivet_core.errors import ConfigError
from rivet_core.facts import Basis, ColumnFacts, Evidence, InspectItem, RelationKind, TableFacts
from rivet_core.sql.querytext import derived_table
from rivet_postgres.catalog.columns import NO_COLUMNS, SELECT_SOMETHING, arrow_text
from rivet_postgres.catalog.queries import PAGES
from rivet_postgres.catalog.transaction import Catalog
from rivet_postgres.columns import RawColumn, plan_column
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.exchange import Exchange
from rivet_postgres.failures import plain_message
from rivet_postgres.types import TypeCatalog

EXPLAIN_TIMEOUT_MS = 10_000
_BOUND = re.compile(r"\$\d|InitPlan")
_INDEXED = frozenset({"Index Scan", "Index Only Scan", "Bitmap Index Scan"})


def describe_query(catalog: Catalog, types: TypeCatalog, query: str) -> tuple[RawColumn, ...]:
    """Return the query's columns as the server describes them, within the open transaction; nothing is run."""
    catalog.statements += 1
    # Not the blocking calls of psycopg: they hold the interpreter's lock while the server parses.
    result = Exchange(catalog.connection.pgconn).describe(_all_rows(derived_table(POSTGRES, query)))
    names = [(result.fname(i) or b"").decode() for i in range(result.nfields)]
    oids = [result.ftype(i) for i in range(result.nfields)]
    modifiers = [result.fmod(i) for i in range(result.nfields)]
    catalog.learn_types(types, oids)
    spelled = catalog.fetch(
        "SELECT format_type(o.oid, o.typmod) AS text FROM unnest(%(oids)s::oid[], %(modifiers)s::int[]) WITH ORDINALITY "
        "AS o(oid, typmod, place) ORDER BY place",
        {"oids": oids, "modifiers": modifiers},
    )
    return tuple(
        RawColumn(name=name, type_oid=oid, typmod=modifier, source_type=row.text)
        for name, oid, modifier, row in zip(names, oids, modifiers, spelled, strict=True)
    )


def query_facts(catalog: Catalog, types: TypeCatalog, item: InspectItem, query: str) -> TableFacts:
    """Return the facts of a query; without an estimate where planning it takes too long, which is no reason not to read it.

    Raises what the server raises; the caller makes a problem row of it.
    """
    source = derived_table(POSTGRES, query)
    with catalog.transaction(statement_ms=EXPLAIN_TIMEOUT_MS):
        columns = tuple(_facts(column, types) for column in describe_query(catalog, types, query))
        if not columns:
            raise ConfigError(f"the query of {item.name} {NO_COLUMNS}", hint=SELECT_SOMETHING)
        facts = TableFacts(name=item.name, kind=RelationKind.QUERY, columns=columns)
        try:
            return _estimated(catalog, facts, item.columns, source, source, "query")
        except QueryCanceled as error:
            return replace(facts, notes=(f"no estimate: {plain_message(error)}",))


def view_estimate(catalog: Catalog, facts: TableFacts, columns: Sequence[str], source: str) -> TableFacts:
    """Return the facts of a view or foreign table with the planner's own guess, labelled as a guess."""
    with catalog.transaction(statement_ms=EXPLAIN_TIMEOUT_MS):
        found = _estimated(catalog, facts, columns, source, f"{source} AS rivet_row", "view")
    return replace(found, notes=(*facts.notes, "rows and bytes are the planner's guess"))


def _estimated(catalog: Catalog, facts: TableFacts, columns: Sequence[str], source: str, named: str, kind: str) -> TableFacts:
    """Return the facts with what EXPLAIN says of `source`; `named` is the same with the name `rivet_row`."""
    guess = "" if kind == "query" else "_guess"
    plan, now = _explain(catalog, _all_rows(source))
    types = {column.name: column.source_type for column in facts.columns}
    ranges = {name: _range_uses_index(catalog, named, name, types[name]) for name in columns if name in types}
    rows, width = int(plan["Plan Rows"]), int(plan["Plan Width"])
    # What comes out may be more than what is scanned: a join that multiplies, a function that reads by itself.
    scanned = max(_scanned(catalog, plan), rows * width)
    return replace(
        facts,
        rows=(_evidence(f"{kind}_rows{guess}", rows, "rows", now),),
        bytes=(_evidence(f"{kind}_bytes{guess}", rows * width, "B", now),),
        avg_width=width or None,
        scan_bytes=_evidence("scan_bytes", scanned, "B", now),
        index_for_range=ranges,
    )


def _facts(column: RawColumn, types: TypeCatalog) -> ColumnFacts:
    plan = plan_column(column, types)
    return ColumnFacts(
        name=column.name,
        source_type=column.source_type,
        kind=plan.kind,
        precision=plan.precision,
        fidelity=plan.fidelity,
        fidelity_note=plan.note,
        arrow_type=arrow_text(plan.arrow),
    )


def _evidence(signal: str, value: int, unit: str, now: Any) -> Evidence:
    return Evidence(
        signal=signal,
        value=value,
        unit=unit,
        source="EXPLAIN, the planner's guess",
        observed_at=now,
        quality=40,
        basis=Basis.LIVE,
    )


def _explain(catalog: Catalog, sql: str) -> tuple[dict[str, Any], Any]:
    row = catalog.fetch(f"EXPLAIN (FORMAT JSON, VERBOSE)\n{sql}")[0]
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan, catalog.fetch("SELECT clock_timestamp()")[0][0]


def _all_rows(source: str) -> str:
    """Select everything from a quoted relation, or from the user's query as a derived table."""
    return f"SELECT * FROM {source}"  # noqa: S608


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _scanned(catalog: Catalog, plan: dict[str, Any]) -> int:
    """Return the bytes the plan scans: whole tables where it scans them, the rows it expects where an index finds them."""
    whole, found = [], 0
    for node in _nodes(plan):
        if node["Node Type"] in ("Seq Scan", "Sample Scan", "Tid Scan") and "Relation Name" in node:
            whole.append((node.get("Schema", ""), node["Relation Name"]))
        elif node["Node Type"] in _INDEXED or node["Node Type"] == "Foreign Scan":
            found += int(node["Plan Rows"]) * max(int(node["Plan Width"]), 1)
    if whole:
        values = {"schemas": [schema for schema, _ in whole], "names": [name for _, name in whole]}
        found += sum(row.bytes for row in catalog.fetch(PAGES, values))
    return found


def _range_uses_index(catalog: Catalog, source: str, column: str, source_type: str) -> bool:
    """Whether a range on the column can use an index: asked with sequential scans made expensive, bounds unknown."""
    catalog.fetch("SELECT set_config('enable_seqscan', 'off', true)")
    bound = f"(SELECT NULL::{source_type})"
    condition = f"rivet_row.{POSTGRES.quote(column)} > {bound}"
    plan, _ = _explain(catalog, f"{_all_rows(source)} WHERE {condition}")
    # The bound is the only parameter of the plan: `$0`, or `(InitPlan 1).col1` since PostgreSQL 17.
    return any(node["Node Type"] in _INDEXED and _BOUND.search(node.get("Index Cond", "")) for node in _nodes(plan))
