"""The planner's guess of the rows in a range; it looks at the statistics, and for new rows at the end of the index."""

from __future__ import annotations

import psycopg

from rivet_core.facts import ReadSpec, TableFacts, Unit
from rivet_core.sql.select import KeyTypes, SelectItem, select_unit
from rivet_postgres.catalog.transaction import Catalog
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.names import TableName

TIMEOUT_MS = 2000
"""Of one EXPLAIN: planning goes on without its answer."""


def expected_rows(catalog: Catalog, spec: ReadSpec, table: TableFacts, unit: Unit) -> int | None:
    """Return the rows that the planner expects in `unit`, `None` when it does not answer in time. Nothing is read."""
    keys = KeyTypes.of(table.columns)
    source = TableName(table.schema, table.relation).sql
    sql = select_unit(POSTGRES, source=source, items=(SelectItem(name="one", verbatim="1"),), spec=spec, unit=unit, keys=keys)
    try:
        with catalog.transaction(statement_ms=TIMEOUT_MS):
            answer = catalog.fetch(f"EXPLAIN (FORMAT JSON)\n{sql}")[0][0]
    except psycopg.Error:
        if catalog.connection.closed:
            raise
        return None
    return int(answer[0]["Plan"]["Plan Rows"])
