"""Which column a mode reads by, and whether an ordered read of it is cheap."""

from __future__ import annotations

from rivet_core.facts import CursorRef, ExportFacts, ExportSpec, Mode, TableFacts, UnitKind


def cursor_columns(spec: ExportSpec) -> tuple[str, ...]:
    """Return the cursor columns as declared: the cursor, then its fallback or tie breaker; empty when none is."""
    return tuple(name for name in (spec.cursor_column, spec.cursor_fallback_column) if name)


def cursor_ref(spec: ExportSpec) -> CursorRef | None:
    """Return what marks progress in this mode as a reference to classify, `None` when the mode has no such column."""
    if spec.mode is Mode.TIME_WINDOW and spec.time_column:
        return CursorRef(columns=(spec.time_column,), mode="time_window")
    if spec.mode is Mode.INCREMENTAL and spec.cursor_column:
        return CursorRef(columns=cursor_columns(spec), mode=cursor_mode(spec))
    return None


def cursor_mode(spec: ExportSpec) -> str:
    """Return `single_column`, `coalesce` or `pair`; a fallback without a declared mode means coalesce."""
    return spec.incremental_cursor_mode or ("coalesce" if spec.cursor_fallback_column else "single_column")


def range_column(facts: ExportFacts) -> str | None:
    """Return the column that the mode reads ranges of, `None` for whole reads and block ranges."""
    spec = facts.spec
    if spec.mode is Mode.INCREMENTAL:
        return spec.cursor_column
    if spec.mode is Mode.TIME_WINDOW:
        return spec.time_column
    if spec.mode is Mode.CHUNKED:
        if spec.chunk_column:
            return spec.chunk_column
        if any(unit.kind is UnitKind.CTID for unit in facts.units[:2]):
            return None
        return next(iter(facts.table.primary_key), None)
    return None


def range_is_indexed(facts: ExportFacts) -> bool:
    """Whether the range column leads a usable index, so that a part reads only its own rows. True without a range column."""
    column = range_column(facts)
    if column is None:
        return True
    if facts.spec.mode is Mode.INCREMENTAL and cursor_mode(facts.spec) == "coalesce" and facts.spec.cursor_fallback_column:
        return False
    return leads(facts.table, column)


def leads(table: TableFacts, column: str) -> bool:
    """Whether a range on `column` can use an index: from the catalog, or from EXPLAIN for queries and views."""
    return table.leads_index(column) or table.index_for_range.get(column, False)
