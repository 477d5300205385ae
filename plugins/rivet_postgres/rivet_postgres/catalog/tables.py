"""One relation's facts, put together from the rows of all statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rivet_core.facts import ColumnFacts, RelationKind, Role, ServerFacts, TableFacts
from rivet_core.sql.lookalikes import describe, lookalikes
from rivet_postgres.catalog.columns import NO_COLUMNS, SELECT_SOMETHING, column_facts, index_facts, row_width
from rivet_postgres.catalog.relations import KINDS, Size, add_sizes, byte_evidence, differs, row_evidence, size_of
from rivet_postgres.dialect import POSTGRES
from rivet_postgres.names import written
from rivet_postgres.types import TypeCatalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All rows of one inspection, grouped by relation. `user` is the role whose rights were asked."""

    now: datetime
    members: Mapping[int, Sequence[Any]]
    columns: Mapping[int, Sequence[Any]]
    indexes: Mapping[int, Sequence[Any]]
    sizes: Mapping[int, tuple[int, int]]
    user: str

    @classmethod
    def of(
        cls,
        now: datetime,
        relations: Sequence[Any],
        columns: Sequence[Any],
        indexes: Sequence[Any],
        sizes: Mapping[int, tuple[int, int]],
        user: str,
    ) -> Snapshot:
        """Group rows by the relation they belong to; `members` by the asked relation, itself first."""
        members, by_column, by_index = defaultdict(list), defaultdict(list), defaultdict(list)
        for row in sorted(relations, key=lambda row: row.depth):
            members[row.root].append(row)
        for row in columns:
            by_column[row.attrelid].append(row)
        for row in indexes:
            by_index[row.indrelid].append(row)
        return cls(now=now, members=members, columns=by_column, indexes=by_index, sizes=sizes, user=user)


def table_facts(snapshot: Snapshot, types: TypeCatalog, name: str, oid: int, server: ServerFacts) -> TableFacts:
    """Return the facts of one relation under the name the config has for it."""
    if not snapshot.members.get(oid):
        return TableFacts(name=name, kind=RelationKind.MISSING, problem="the table vanished meanwhile", remedy="try again")
    row, *below = snapshot.members[oid]
    if not row.populated:
        return _unpopulated(name, row)
    rows = snapshot.columns.get(oid, ())
    columns = tuple(column_facts(column, types) for column in rows)
    names = {column.attnum: column.attname for column in rows}
    standby = server.role is Role.STANDBY
    leaves = [member for member in below if member.relkind in ("r", "f")]
    problem, remedy = _rights(snapshot, row, columns)
    size, unknown = _size(snapshot, row, leaves, rows, standby=standby)
    width = row_width(rows)
    counted = [member for member in (row, *leaves) if member.relkind in ("r", "m")]
    return TableFacts(
        name=name,
        schema=row.nspname,
        relation=row.relname,
        kind=KINDS[row.relkind],
        columns=columns,
        indexes=tuple(index_facts(index, names) for index in snapshot.indexes.get(oid, ())),
        rows=row_evidence(size, snapshot.now) if row.relkind != "v" else (),
        bytes=byte_evidence(size, snapshot.now) if row.relkind != "v" else (),
        out_of_line_bytes=size.out_of_line,
        avg_width=width,
        dead_rows=_sum(counted, "dead", standby),
        changes_since_statistics=_sum(counted, "changed", standby),
        inserts=_sum(counted, "inserted", standby),
        updates=_sum(counted, "updated", standby),
        deletes=_sum(counted, "deleted", standby),
        counters_since=None if standby else server.counters_since,
        statistics_at=size.observed_at,
        partitions=tuple(written(leaf.nspname, leaf.relname) for leaf in leaves) if row.relkind == "p" else (),
        largest_partition=_largest(snapshot, leaves),
        inheritance_children=row.children if row.relkind == "r" else 0,
        problem=problem,
        remedy=remedy,
        grants=_grants(snapshot, row, columns, problem),
        notes=_notes(row, size, names.values(), standby=standby, unknown=unknown),
    )


def _unpopulated(name: str, row: Any) -> TableFacts:
    place = f"{row.nspname}.{row.relname}"
    return TableFacts(
        name=name,
        schema=row.nspname,
        relation=row.relname,
        kind=RelationKind.MATERIALIZED_VIEW,
        problem_class="missing",
        problem=f"the materialized view {place} was never filled: the server refuses to read it",
        remedy=f"REFRESH MATERIALIZED VIEW {POSTGRES.qualified((row.nspname, row.relname))}",
    )


def _size(snapshot: Snapshot, row: Any, leaves: Sequence[Any], columns: Sequence[Any], *, standby: bool) -> tuple[Size, bool]:
    width = row_width(columns)
    if row.relkind != "p":
        return size_of(row, snapshot.sizes.get(row.oid), standby=standby, width=width), False
    return add_sizes([size_of(leaf, snapshot.sizes.get(leaf.oid), standby=standby, width=width) for leaf in leaves])


def _sum(rows: Sequence[Any], name: str, standby: bool) -> int | None:
    """Add up a counter; a standby's own counters say nothing about the table."""
    values = [getattr(row, name) for row in rows]
    return None if standby or not values or any(value is None for value in values) else sum(values)


def _largest(snapshot: Snapshot, leaves: Sequence[Any]) -> str:
    measured = [
        (sum(snapshot.sizes[leaf.oid]), written(leaf.nspname, leaf.relname)) for leaf in leaves if leaf.oid in snapshot.sizes
    ]
    return max(measured)[1] if measured else ""


def _rights(snapshot: Snapshot, row: Any, columns: Sequence[ColumnFacts]) -> tuple[str, str]:
    role, table = POSTGRES.quote(snapshot.user), POSTGRES.qualified((row.nspname, row.relname))
    if not row.schema_usage:
        grant = f"GRANT USAGE ON SCHEMA {POSTGRES.quote(row.nspname)} TO {role}"
        rest = "" if row.readable else f"; GRANT SELECT ON {table} TO {role}"
        return f"the role {snapshot.user} may not use the schema {row.nspname}", grant + rest
    if not row.readable and not row.some_columns:
        return f"the role {snapshot.user} may not read {row.nspname}.{row.relname}", f"GRANT SELECT ON {table} TO {role}"
    if not columns:
        return f"{row.nspname}.{row.relname} {NO_COLUMNS}", SELECT_SOMETHING
    return "", ""


def _grants(snapshot: Snapshot, row: Any, columns: Sequence[ColumnFacts], problem: str) -> tuple[str, ...]:
    if problem or row.readable:
        return ()
    hidden = ", ".join(POSTGRES.quote(column.name) for column in columns if not column.readable)
    table = POSTGRES.qualified((row.nspname, row.relname))
    return (f"GRANT SELECT ({hidden}) ON {table} TO {POSTGRES.quote(snapshot.user)}",) if hidden else ()


def _notes(row: Any, size: Size, names: Iterable[str], *, standby: bool, unknown: bool) -> tuple[str, ...]:
    notes = []
    if row.relkind == "r" and row.children and not row.hypertable:
        notes.append(f"{row.children} inheriting tables are not part of this one: it is read with ONLY")
    if row.row_security:
        notes.append(
            "row level security holds for this role: rows that its policies hide are left out without a word; "
            "a role with BYPASSRLS sees them all"
        )
    if unknown:
        notes.append("a partition is unknown: the sizes are lower bounds")
    if standby:
        notes.append("counters of a standby are its own and ignored")
    if size.catalog_bytes is not None and size.measured_bytes is not None and differs(size.catalog_bytes, size.measured_bytes):
        notes.append("the catalog's size and the measured one differ by more than a factor of two: the measured one is used")
    if size.rows is None and row.relkind in ("r", "m"):
        notes.append("never analyzed: ANALYZE gives a row count")
    notes += [f"column names that look alike: {describe(group)}" for group in lookalikes(names)]
    return tuple(notes)
