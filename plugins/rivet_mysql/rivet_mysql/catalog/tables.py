"""From the catalog's answers to the facts of each table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rivet_core.facts import Basis, ColumnFacts, Evidence, IndexFacts, InspectItem, RelationKind, TableFacts, TypeKind
from rivet_core.sql.lookalikes import describe, lookalikes
from rivet_mysql.catalog.statements import Key, Sheet, Statistics
from rivet_mysql.connection import Row, number, text
from rivet_mysql.types import declared_from_text, reading

QUALITY_ROWS = 50
QUALITY_ROWS_FALLBACK = 40
QUALITY_BYTES = 75
QUALITY_BYTES_FALLBACK = 60
MARGIN = "InnoDB samples 20 pages: the row count is right to about +-50 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What all tables of one inspection share."""

    sheet: Sheet
    observed_at: datetime
    account: str
    counters_since: datetime | None
    replica: bool


def table_facts(context: Context, item: InspectItem, key: Key) -> TableFacts:
    """Return the facts of one table or view, or why it cannot be planned."""
    sheet = context.sheet
    kind = sheet.types.get(key)
    if kind is None:
        return _absent(context, item, key)
    columns = tuple(column_facts(row) for row in sheet.columns.get(key, ()))
    if columns and not any(column.readable for column in columns):
        return _unreadable(context, item, key)
    indexes = tuple(_indexes(sheet.indexes.get(key, ()), sheet.statistics.get(key)))
    columns = tuple(_with_distinct(context, key, column, indexes) for column in columns)
    alike = tuple(f"column names that look alike: {describe(group)}" for group in lookalikes(c.name for c in columns))
    common = {"name": item.name, "schema": key[0], "relation": key[1], "columns": columns, "indexes": indexes}
    if "VIEW" in kind:
        return TableFacts(**common, kind=RelationKind.VIEW, notes=("a view has no statistics of its own", *alike))  # type: ignore[arg-type]
    statistics = sheet.statistics.get(key)
    rows, notes = _rows(context, key, statistics)
    size = _bytes(context, key, statistics)
    counters = None if context.replica and key not in sheet.writes else sheet.writes.get(key)
    inserts, updates, deletes = counters or (None, None, None)
    partitions = statistics.partitions if statistics else ()
    return TableFacts(
        **common,  # type: ignore[arg-type]
        kind=RelationKind.PARTITIONED if partitions else RelationKind.TABLE,
        rows=rows,
        bytes=size,
        avg_width=_width(rows, size),
        inserts=inserts,
        updates=updates,
        deletes=deletes,
        counters_since=context.counters_since if counters else None,
        statistics_at=statistics.observed_at if statistics else None,
        partitions=partitions,
        largest_partition=statistics.largest if statistics else "",
        grants=sheet.grants,
        notes=(*notes, *alike),
    )


def _absent(context: Context, item: InspectItem, key: Key) -> TableFacts:
    if key in context.sheet.statistics:
        return _unreadable(context, item, key)
    return TableFacts(
        name=item.name,
        schema=key[0],
        relation=key[1],
        kind=RelationKind.MISSING,
        problem=f"there is no table {key[0]}.{key[1]}, or {context.account} has no right on it (the server shows neither)",
        remedy=f"check the name, or ask for: {_grant(context, key)}",
    )


def _unreadable(context: Context, item: InspectItem, key: Key) -> TableFacts:
    return TableFacts(
        name=item.name,
        schema=key[0],
        relation=key[1],
        problem=f"{context.account} may not read {key[0]}.{key[1]}",
        remedy=_grant(context, key),
        grants=(_grant(context, key),),
    )


def _grant(context: Context, key: Key) -> str:
    schema, table = (part.replace("`", "``") for part in key)
    return f"GRANT SELECT ON `{schema}`.`{table}` TO {context.account}"


def column_facts(row: Row) -> ColumnFacts:
    """Return the facts of one column of information_schema.COLUMNS."""
    name, spelled, nullable, default, extra, comment, fraction, collation, rights = row
    how = reading(declared_from_text(text(spelled)))
    # MariaDB spells "no default" of a nullable column as the word NULL.
    has_default = default is not None and text(default).upper() != "NULL"
    return ColumnFacts(
        name=text(name),
        source_type=text(spelled),
        kind=how.kind,
        nullable=text(nullable).upper() == "YES",
        default=text(default) if has_default else None,
        generated=_generated(text(extra).lower(), has_default),
        comment=text(comment),
        precision=number(fraction) if how.kind in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.INTERVAL) else None,
        fidelity=how.fidelity,
        fidelity_note=how.note,
        arrow_type=how.arrow,
        readable="select" in text(rights).lower(),
        collation=text(collation),
    )


def _generated(extra: str, has_default: bool) -> str:
    if "auto_increment" in extra:
        return "auto_increment"
    if "virtual generated" in extra or extra == "virtual":
        return "virtual"
    if "stored generated" in extra or extra in ("persistent", "stored"):
        return "stored"
    return "default" if has_default else ""


def _indexes(rows: object, statistics: Statistics | None) -> list[IndexFacts]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:  # type: ignore[attr-defined]
        grouped.setdefault(text(row[0]), []).append(row)
    found = []
    for name, parts in grouped.items():
        method = text(parts[0][6]).lower()
        # A prefix does not order its column, and descending keys are not read by ascending ranges of several columns.
        prefixed = any(part[5] is not None for part in parts)
        mixed = len({text(part[3]) for part in parts}) > 1
        found.append(
            IndexFacts(
                name=name,
                columns=tuple(text(part[2]) for part in parts),
                unique=number(parts[0][1]) == 0,
                primary=name == "PRIMARY",
                valid=not prefixed,
                partial=False,
                method=method if method != "btree" or not mixed else "btree (mixed directions)",
                size_bytes=statistics.data_bytes if statistics and name == "PRIMARY" else None,
            )
        )
    return found


def _with_distinct(context: Context, key: Key, column: ColumnFacts, indexes: tuple[IndexFacts, ...]) -> ColumnFacts:
    leading = [index for index in indexes if index.columns[:1] == (column.name,)]
    values = [context.sheet.distinct[(*key, index.name)] for index in leading if (*key, index.name) in context.sheet.distinct]
    if not values:
        return column
    fields = {name: getattr(column, name) for name in column.__dataclass_fields__}
    unique = any(index.unique and index.valid and len(index.columns) == 1 for index in leading)
    return ColumnFacts(**{**fields, "n_distinct": -1.0 if unique else float(max(values))})


def _rows(context: Context, key: Key, statistics: Statistics | None) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    table = context.sheet.tables.get(key)
    ends = number(table[3]) if table else None
    if statistics is not None:
        if statistics.rows == 0 and (statistics.data_bytes > 16384 * 4 or (ends or 0) > 1):
            return (), (
                f"n_rows is 0, but {_contradiction(statistics, ends)}: the number of rows is unknown; run ANALYZE TABLE",
            )
        changes = None
        evidence = Evidence(
            signal="table_rows",
            value=statistics.rows,
            unit="rows",
            source="mysql.innodb_table_stats.n_rows",
            observed_at=statistics.observed_at,
            quality=QUALITY_ROWS,
            basis=Basis.STATISTICS,
            changes=changes,
        )
        return (evidence,), (MARGIN,)
    if table is None or table[1] is None:
        return (), ("nothing says how many rows it has",)
    count, size = number(table[1]) or 0, number(table[2]) or 0
    exact = text(table[0]).lower() in ("myisam", "aria", "memory")
    if count == 0 and (size > 16384 * 4 or (ends or 0) > 1):
        return (), ("TABLE_ROWS is 0, but the table is not empty: the number of rows is unknown; run ANALYZE TABLE",)
    evidence = Evidence(
        signal="table_rows",
        value=count,
        unit="rows",
        source="information_schema.TABLES.TABLE_ROWS",
        observed_at=context.observed_at if exact else None,
        quality=95 if exact else QUALITY_ROWS_FALLBACK,
        basis=Basis.LIVE if exact else Basis.STATISTICS,
    )
    return (evidence,), (() if exact else (MARGIN,))


def _contradiction(statistics: Statistics, ends: int | None) -> str:
    if statistics.data_bytes > 16384 * 4:
        return f"the table takes {statistics.data_bytes} bytes"
    return f"auto_increment stands at {ends}"


def _bytes(context: Context, key: Key, statistics: Statistics | None) -> tuple[Evidence, ...]:
    if statistics is not None:
        source, value, at, quality = "mysql.innodb_table_stats", statistics.data_bytes, statistics.observed_at, QUALITY_BYTES
    else:
        table = context.sheet.tables.get(key)
        if table is None or table[2] is None:
            return ()
        source, value, at, quality = (
            "information_schema.TABLES.DATA_LENGTH",
            number(table[2]) or 0,
            None,
            QUALITY_BYTES_FALLBACK,
        )
    return (
        Evidence(
            signal="table_bytes", value=value, unit="B", source=source, observed_at=at, quality=quality, basis=Basis.STATISTICS
        ),
    )


def _width(rows: tuple[Evidence, ...], size: tuple[Evidence, ...]) -> int | None:
    count, total = (evidence[0].value if evidence else None for evidence in (rows, size))
    return int(total) // int(count) if isinstance(count, int) and isinstance(total, int) and count > 0 else None
