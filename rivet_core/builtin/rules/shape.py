"""What the table's shape adds to a read (RV104, RV202, RV204, RV205, RV206).

Wide rows and out-of-line values, dead rows to step over, rows scattered against the read order, equal windows over a sparse
key, and many units. Together they add at most 20 points.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.rules.signals import catalog, counter, statistic
from rivet_core.facts import ExportFacts, Mode, Reason, Role, TypeKind, Unit, UnitKind
from rivet_core.planning.ranges import range_column
from rivet_core.planning.remedies import vacuum
from rivet_core.planning.taxonomy import TAXONOMY, reason
from rivet_core.planning.wording import count_text, factor_text, share_text, size_text
from rivet_core.planning.work import select_work

WIDE = 4096
MANY_UNITS = 8
MANY_WINDOWS = 10


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons about the table's shape."""
    return [
        found for found in (_wide(facts), _dead(facts), _scattered(facts), _sparse(facts), _many(facts)) if found is not None
    ]


def _wide(facts: ExportFacts) -> Reason | None:
    table, work = facts.table, select_work(facts)
    outside, size = table.out_of_line_bytes, work.size
    toasted = outside is not None and size is not None and outside > size - outside
    wide = table.avg_width is not None and table.avg_width > WIDE
    if not (wide or toasted):
        return None
    evidence = [catalog("avg_width", table.avg_width, "B")] if wide else []
    text = f"rows of {size_text(table.avg_width or 0)} on average" if wide else "most bytes are stored out of line"
    if toasted and outside is not None and size is not None and work.table_bytes is not None:
        evidence += [catalog("out_of_line_bytes", outside, "B"), work.table_bytes]
        text += f", {share_text(outside, size)} of the bytes out of line"
    return reason("RV104", f"Wide: {text}.", evidence=evidence, remedy="leave out large columns (columns:)")


def _dead(facts: ExportFacts) -> Reason | None:
    dead, work = facts.table.dead_rows, select_work(facts)
    rows = work.rows
    if facts.server.role is Role.STANDBY or not dead or rows is None or work.table_rows is None:
        return None
    if dead * 10 <= 3 * (rows + dead):
        return None
    return reason(
        "RV204",
        f"{share_text(dead, rows + dead)} of the row versions are dead: {count_text(dead)} to step over.",
        evidence=[counter(facts, "dead_rows", dead), work.table_rows],
        remedy=vacuum(facts.table, facts.server),
        potential=TAXONOMY["RV204"].points,
    )


def _scattered(facts: ExportFacts) -> Reason | None:
    name = range_column(facts)
    column = facts.table.column(name) if name else None
    if column is None or column.correlation is None or not -0.2 < column.correlation < 0.2:
        return None
    return reason(
        "RV205",
        f"Rows lie scattered against {column.name} (correlation {column.correlation:.2f}): random reads.",
        evidence=[statistic(facts, column, "correlation", column.correlation)],
        caveat="Measured over the whole table; the newest rows can still lie in order.",
        remedy="chunk by the primary key or ctid",
    )


def _sparse(facts: ExportFacts) -> Reason | None:
    """Equal windows over a sparse integer key; units that follow the rows never look like this."""
    name = range_column(facts)
    column = facts.table.column(name) if name else None
    if facts.spec.mode is not Mode.CHUNKED or column is None or column.kind is not TypeKind.INTEGER:
        return None
    inner = [unit for unit in facts.units if unit.kind is UnitKind.RANGE and unit.lower and unit.upper]
    if len(inner) <= MANY_WINDOWS or any(unit.rows is None for unit in inner):
        return None
    widths = [_width(unit) for unit in inner]
    if None in widths or min(width or 0 for width in widths) * 11 < max(width or 0 for width in widths) * 10:
        return None
    span, rows = sum(width or 0 for width in widths), sum(unit.rows or 0 for unit in inner)
    if span <= 0 or rows * 10 >= span:
        return None
    return reason(
        "RV202",
        f"{len(inner)} equal windows over {column.name}, of whose values {share_text(rows, span)} exist: most are empty.",
        evidence=[catalog("key_span", span), catalog("rows_in_span", rows, "rows")],
        remedy="chunk_by_key: true, or chunk_count instead of chunk_size",
        potential=TAXONOMY["RV202"].points,
    )


def _width(unit: Unit) -> int | None:
    try:
        return int(unit.upper[0].value) - int(unit.lower[0].value)
    except ValueError:
        return None


def _many(facts: ExportFacts) -> Reason | None:
    count = len(facts.units)
    if count <= MANY_UNITS:
        return None
    rows = sorted(unit.rows for unit in facts.units if unit.rows)
    skew = f"; the largest holds {factor_text(rows[-1], rows[len(rows) // 2])} the rows of the median" if rows else ""
    return reason(
        "RV206",
        f"{count} units: a longer hold on the source{skew}.",
        evidence=[catalog("units", count)],
        remedy="larger units, fewer workers",
        potential=TAXONOMY["RV206"].points,
    )
