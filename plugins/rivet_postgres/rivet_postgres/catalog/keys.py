"""What is known of a key's values: histogram bounds from the statistics, else the two ends of its index."""

from __future__ import annotations

from rivet_core.facts import RelationKind, TableFacts, TypeKind
from rivet_postgres.catalog.queries import BOUNDS
from rivet_postgres.catalog.transaction import Catalog
from rivet_postgres.chunks import Keys
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.relation import Relation

PROBE_TIMEOUT_MS = 15_000


def look_up_keys(catalog: Catalog, relation: Relation, table: TableFacts, column: str) -> Keys:
    """Return bounds for a column: one statement on the statistics, and one more for the ends when they say nothing.

    The ends are asked by `ORDER BY ... LIMIT 1` in both directions, which an index answers at once; without an index the
    statement's own timeout holds.
    """
    with catalog.transaction(statement_ms=PROBE_TIMEOUT_MS):
        if table.kind in (RelationKind.TABLE, RelationKind.PARTITIONED, RelationKind.MATERIALIZED_VIEW):
            inherited = table.kind is RelationKind.PARTITIONED
            values = {"schema": table.schema, "table": table.relation, "column": column, "inherited": inherited}
            for row in catalog.fetch(BOUNDS, values):
                if row.bounds:
                    return Keys(bounds=tuple(row.bounds))
                facts = table.column(column)
                if row.common and facts is not None and facts.kind is TypeKind.INTEGER:
                    return Keys(bounds=tuple(sorted(row.common, key=int)))
        name = f"rivet_row.{POSTGRES.quote(column)}"
        source = relation.source if relation.source.startswith("(") else f"{relation.source} AS rivet_row"
        low, high = (_end(name, source, way) for way in ("ASC", "DESC"))
        row = catalog.fetch(f"SELECT {low} AS low, {high} AS high")[0]
        return Keys(low=row.low, high=row.high)


def _end(name: str, source: str, way: str) -> str:
    """One end of the key as a scalar subquery; `name` and `source` are quoted."""
    return f"(SELECT {name}::text FROM {source} WHERE {name} IS NOT NULL ORDER BY {name} {way} LIMIT 1)"  # noqa: S608
