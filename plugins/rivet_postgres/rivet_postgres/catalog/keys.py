"""What is known of a key's values: histogram bounds from the statistics, else the two ends of its index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rivet_postgres.catalog.queries import BOUNDS, with_statistics
from rivet_postgres.catalog.transaction import Catalog
from rivet_postgres.chunks import Keys
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.relation import Relation

PROBE_TIMEOUT_MS = 15_000
SAMPLE_BLOCKS = 400
"""Blocks of a table that are looked at to see how the values of a whole key lie."""

Place: TypeAlias = tuple[str, str, str]
"""Schema, relation and column."""


def fetch_bounds(catalog: Catalog, places: Sequence[Place]) -> dict[Place, Keys]:
    """Return what the statistics say about all these columns, in one statement within the open transaction.

    Columns without statistics are in the answer too, with nothing known. Integers whose values all are common ones have no
    histogram; the common values, sorted, stand in for it.
    """
    found: dict[Place, Keys] = dict.fromkeys(places, Keys())
    if not places:
        return found
    schemas, tables, columns = zip(*places, strict=True)
    names = sorted(set(tables))
    values = {"schemas": list(schemas), "tables": list(tables), "columns": list(columns), "relations": names}
    for row in catalog.fetch(with_statistics(BOUNDS, len(names)), values):
        place = (row.schemaname, row.tablename, row.attname)
        if row.bounds:
            found[place] = Keys(bounds=tuple(row.bounds))
        elif row.common and all(value.lstrip("-").isdigit() for value in row.common):
            found[place] = Keys(bounds=tuple(sorted(row.common, key=int)))
    return found


def probe_ends(catalog: Catalog, relation: Relation, column: str) -> Keys:
    """Return the lowest and the highest value: `ORDER BY ... LIMIT 1` both ways, which an index answers at once."""
    name = f"rivet_row.{POSTGRES.quote(column)}"
    source = relation.source if relation.source.startswith("(") else f"{relation.source} AS rivet_row"
    low, high = (_end(name, source, way) for way in ("ASC", "DESC"))
    with catalog.transaction(statement_ms=PROBE_TIMEOUT_MS):
        row = catalog.fetch(f"SELECT {low} AS low, {high} AS high")[0]
    return Keys(low=row.low, high=row.high)


def sample_key(catalog: Catalog, relation: Relation, columns: Sequence[str], units: int, blocks: int) -> list[tuple[str, ...]]:
    """Return at most `units - 1` values of a unique key, in its order, that part a sample of the table evenly.

    The sample is of whole blocks (`TABLESAMPLE SYSTEM`), so that it costs the same for any size. `blocks` is the table's.
    """
    percent = min(100.0, 100.0 * SAMPLE_BLOCKS / max(1, blocks))
    names = [f"k{place}" for place in range(len(columns))]
    values = ", ".join(f"rivet_row.{POSTGRES.quote(one)} AS {name}" for one, name in zip(columns, names, strict=True))
    sample = f"SELECT {values} FROM {relation.source} AS rivet_row TABLESAMPLE SYSTEM ({percent:.6f}) REPEATABLE (0)"  # noqa: S608
    order = ", ".join(names)
    numbered = f"SELECT *, row_number() OVER (ORDER BY {order}) AS n, count(*) OVER () AS total FROM ({sample}) AS s"  # noqa: S608
    texts = ", ".join(f"{name}::text" for name in names)
    at_edges = f"n < total AND n * {units} / total > (n - 1) * {units} / total"
    with catalog.transaction(statement_ms=PROBE_TIMEOUT_MS):
        return [tuple(row) for row in catalog.fetch(f"SELECT {texts} FROM ({numbered}) AS x WHERE {at_edges} ORDER BY n")]  # noqa: S608


def _end(name: str, source: str, way: str) -> str:
    """One end of the key as a scalar subquery; `name` and `source` are quoted."""
    return f"(SELECT {name}::text FROM {source} WHERE {name} IS NOT NULL ORDER BY {name} {way} LIMIT 1)"  # noqa: S608
