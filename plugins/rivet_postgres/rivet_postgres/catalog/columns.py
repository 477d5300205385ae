"""Rows of `queries.COLUMNS` and `queries.INDEXES`, as facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from rivet_core.facts import ColumnFacts, Fidelity, IndexFacts, TypeKind
from rivet_postgres.columns import RawColumn, plan_column
from rivet_postgres.types import TypeCatalog

NO_COLUMNS = "has no columns, and a file keeps no rows without"
SELECT_SOMETHING = "select something, such as `1 AS row`, in a `query`"


def raw_column(row: Any, *, nullable: bool | None = None) -> RawColumn:
    """Return what reading needs of a column."""
    return RawColumn(
        name=row.attname,
        type_oid=row.atttypid,
        typmod=row.atttypmod,
        source_type=row.source_type,
        dimensions=row.attndims,
        nullable=not row.attnotnull if nullable is None else nullable,
        comment=row.comment or "",
    )


@dataclass(frozen=True, slots=True)
class Traits:
    """What follows from a column's type alone."""

    kind: TypeKind
    precision: int | None
    fidelity: Fidelity
    note: str
    arrow: str


def _traits(row: Any, types: TypeCatalog) -> Traits:
    """Return the traits of a column's type, worked out once per type: catalogs have few types and many columns."""
    key = (row.atttypid, row.atttypmod, row.attndims > 1)
    found = types.traits.get(key)
    if found is None:
        plan = plan_column(raw_column(row), types)
        found = Traits(plan.kind, plan.precision, plan.fidelity, plan.note, arrow_text(plan.arrow))
        types.traits[key] = found
    return cast("Traits", found)


def column_facts(row: Any, types: TypeCatalog) -> ColumnFacts:
    """Return the facts of one column, with the type that arrives and how exact it is."""
    traits = _traits(row, types)
    return ColumnFacts(
        name=row.attname,
        source_type=row.source_type,
        kind=traits.kind,
        nullable=not row.attnotnull,
        default=row.default_text,
        generated=_generated(row),
        comment=row.comment or "",
        precision=traits.precision,
        null_frac=row.null_frac,
        avg_width=row.avg_width,
        n_distinct=row.n_distinct,
        correlation=row.correlation,
        fidelity=traits.fidelity,
        fidelity_note=traits.note,
        arrow_type=traits.arrow,
        readable=row.readable,
        collation=row.collation_name,
    )


def arrow_text(arrow: pa.DataType) -> str:
    """Return an Arrow type in words: extension types as their storage and name."""
    if isinstance(arrow, pa.BaseExtensionType):
        return f"{arrow.storage_type} ({arrow.extension_name.removeprefix('arrow.')})"
    return str(arrow)


def _generated(row: Any) -> str:
    if row.identity:
        return "identity"
    if row.generated:
        return "stored" if row.generated == "s" else "virtual"
    if row.from_sequence:
        return "sequence"
    return "default" if row.has_default else ""


def index_facts(row: Any, names: dict[int, str]) -> IndexFacts:
    """Return the facts of one index. An order of its own (operator class, collation) is said in `method`."""
    plain = row.amname != "btree" or (row.plain_order and row.own_collation)
    return IndexFacts(
        name=row.relname,
        columns=tuple(names.get(number, "") for number in row.keys[: row.indnkeyatts]),
        unique=row.indisunique,
        primary=row.indisprimary,
        valid=row.valid,
        partial=row.partial,
        method=row.amname if plain else "btree with its own order",
        size_bytes=row.size_bytes,
    )


def row_width(rows: Iterable[Any]) -> int | None:
    """Return the sum of the average widths of all columns in bytes, `None` when one of them is unknown."""
    widths = [row.avg_width for row in rows]
    return sum(widths) if widths and all(width is not None for width in widths) else None
