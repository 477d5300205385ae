"""How good a column is as a cursor, from catalog facts alone: type, index, uniqueness, nulls, where values come from.

Source plugins that know more (trigger text, write-ahead facts) return a higher `evidence_quality` and win.
"""

from __future__ import annotations

from functools import lru_cache

from rivet_core.api import CursorClassifier
from rivet_core.facts import Basis, ColumnFacts, CursorQuality, CursorRef, CursorVerdict, Evidence, TableFacts, TypeKind
from rivet_core.planning.ranges import leads
from rivet_core.planning.wording import fraction_text

CATALOG_QUALITY = 60
"""What a verdict from the catalog alone is worth; leaves room for classifiers that look deeper."""
NULLS_UNKNOWN_QUALITY = 45
UNKNOWN_QUALITY = 20
NULL_TOLERANCE = 0.05
"""A share of NULLs beyond this makes a cursor a fallback."""

TIMES = frozenset((TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.DATE))
KEYS = frozenset((TypeKind.INTEGER, TypeKind.DECIMAL))
ORDERED = TIMES | KEYS | {TypeKind.UUID, TypeKind.TEXT, TypeKind.FLOAT}
GIVEN_BY_DATABASE = frozenset(("identity", "sequence", "auto_increment"))


def classify(table: TableFacts, ref: CursorRef) -> CursorVerdict:
    """Return the verdict of scoring section 5 on `ref`."""
    column = table.column(ref.columns[0]) if ref.columns else None
    if column is None:
        name = ref.columns[0] if ref.columns else "no column"
        return _verdict(CursorQuality.NONE, ref, f"{name} is not among the known columns.", UNKNOWN_QUALITY, ())
    quality, why = _judge(table, column, ref)
    unsure = column.nullable and column.null_frac is None
    return _verdict(quality, ref, why, NULLS_UNKNOWN_QUALITY if unsure else CATALOG_QUALITY, _evidence(table, column))


def is_random_key(column: ColumnFacts) -> bool:
    """Whether values of this column come in no order of time: a uuid that the database does not make as version 7."""
    return column.kind is TypeKind.UUID and not makes_uuid7(column)


def makes_uuid7(column: ColumnFacts) -> bool:
    """Whether the column's default makes time-ordered uuids."""
    default = (column.default or "").lower()
    return column.kind is TypeKind.UUID and ("uuidv7" in default or "uuid_v7" in default or "generate_v7" in default)


def _judge(table: TableFacts, column: ColumnFacts, ref: CursorRef) -> tuple[CursorQuality, str]:
    name = column.name
    if column.kind not in ORDERED:
        return CursorQuality.NONE, f"{name} is {column.source_type}, which has no order that marks progress."
    if ref.mode == "coalesce" and len(ref.columns) > 1:
        return _judge_coalesce(table, ref)
    if column.kind is TypeKind.TEXT:
        return CursorQuality.FALLBACK_ONLY, f"{name} is text: its order is the server's collation ('9' sorts after '11')."
    if not leads(table, name):
        return CursorQuality.FALLBACK_ONLY, f"{name} leads no usable index, so each read scans or sorts the table."
    if column.nullable and column.null_frac is None:
        return CursorQuality.FALLBACK_ONLY, f"{name} can be NULL, and how often is unknown."
    if column.nullable and column.null_frac is not None and column.null_frac > NULL_TOLERANCE:
        return CursorQuality.FALLBACK_ONLY, f"{name} is NULL in {fraction_text(column.null_frac)} of the rows."
    if column.kind in TIMES or ref.mode == "time_window":
        return (
            CursorQuality.WEAK_TIME,
            f"{name} is a time that leads an index; ties, application clocks and late commits are possible.",
        )
    unique = table.is_unique(name)
    if column.kind is TypeKind.UUID and not makes_uuid7(column):
        return CursorQuality.FALLBACK_ONLY, f"{name} is a uuid without a version 7 default: its order says nothing about time."
    given = column.generated in GIVEN_BY_DATABASE or makes_uuid7(column)
    if given and unique and not column.nullable:
        return CursorQuality.STRONG_MONOTONIC, f"{name} is given by the database, unique, never NULL, and leads an index."
    lacks = [
        word
        for word, missing in (("unique", not unique), ("given by the database", not given), ("NOT NULL", column.nullable))
        if missing
    ]
    return CursorQuality.FALLBACK_ONLY, f"{name} leads an index but is not {' and not '.join(lacks)}."


def _judge_coalesce(table: TableFacts, ref: CursorRef) -> tuple[CursorQuality, str]:
    columns = [table.column(name) for name in ref.columns]
    if any(column is None or column.kind not in ORDERED for column in columns):
        return CursorQuality.NONE, f"COALESCE({', '.join(ref.columns)}) needs known columns that have an order."
    return (
        CursorQuality.WEAK_MULTI_CANDIDATE,
        f"COALESCE({', '.join(ref.columns)}): which column marks progress differs from row to row.",
    )


def _verdict(
    quality: CursorQuality, ref: CursorRef, why: str, evidence_quality: int, evidence: tuple[Evidence, ...]
) -> CursorVerdict:
    return CursorVerdict(quality=quality, columns=ref.columns, why=why, evidence_quality=evidence_quality, evidence=evidence)


@lru_cache(maxsize=4096, typed=True)
def _fact(signal: str, value: str | bool) -> Evidence:
    """Return evidence from the catalog; most tables of a schema share names and types of columns."""
    return Evidence(signal=signal, value=value, unit="", source="catalog", observed_at=None, quality=99)


def _evidence(table: TableFacts, column: ColumnFacts) -> tuple[Evidence, ...]:
    name = column.name
    facts = [
        _fact(f"{name}.type", column.source_type),
        _fact(f"{name}.leads_index", leads(table, name)),
        _fact(f"{name}.unique", table.is_unique(name)),
        _fact(f"{name}.nullable", column.nullable),
    ]
    if column.generated:
        facts.append(_fact(f"{name}.generated", column.generated))
    if column.nullable and column.null_frac is not None:
        facts.append(
            Evidence(
                signal=f"{column.name}.null_frac",
                value=column.null_frac,
                unit="",
                source="statistics",
                observed_at=table.statistics_at,
                quality=70,
                basis=Basis.STATISTICS,
                changes=table.changes_since_statistics,
            )
        )
    return tuple(facts)


def builtin_classifiers() -> tuple[CursorClassifier, ...]:
    """Return the record of core's classifier."""
    return (
        CursorClassifier(
            name="catalog",
            summary="cursor quality from catalog facts",
            classify="rivet_core.builtin.classifiers:classify",
        ),
    )
