"""What one stream reads, decided before it begins."""

from __future__ import annotations

from dataclasses import dataclass

from rivet_core.facts import ReadSpec, TypeKind, Unit
from rivet_postgres.engines import Engine
from rivet_postgres.paging import PageSql
from rivet_postgres.relation import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is read: the unit, its statement and its columns, the exported snapshot if any, and the kind of the cursor.

    `pages` replaces the statement where the unit can be read in pages. `count_sql` counts rows that are left out on purpose;
    the number is reported as `count_name`.
    """

    spec: ReadSpec
    unit: Unit
    selection: Selection
    engine: Engine
    sql: str = ""
    pages: PageSql | None = None
    snapshot: str = ""
    count_sql: str = ""
    count_name: str = ""
    cursor_kind: TypeKind | None = None
