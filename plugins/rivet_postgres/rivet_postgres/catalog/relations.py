"""Rows of the size statements, as evidence: what is known about a table's rows and bytes, and how far it is trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rivet_core.facts import Basis, Evidence, RelationKind

KINDS: Mapping[str, RelationKind] = {
    "r": RelationKind.TABLE,
    "p": RelationKind.PARTITIONED,
    "v": RelationKind.VIEW,
    "m": RelationKind.MATERIALIZED_VIEW,
    "f": RelationKind.FOREIGN,
}
STALE_SIZE = 2.0
"""Catalog and measured size may differ by this factor before the measured one goes first."""
_PAGE_HEADER, _TUPLE_OVERHEAD, _UNKNOWN_WIDTH = 24, 28, 32
"""Bytes, from PostgreSQL's own guess for a table without statistics (plancat.c, estimate_rel_size)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What is known of one heap. Bytes and rows; `None` is unknown, never zero."""

    catalog_bytes: int | None
    measured_bytes: int | None
    out_of_line: int | None
    rows: int | None
    guessed_rows: int | None
    live_rows: int | None
    observed_at: datetime | None
    changes: int | None


def size_of(row: Any, measured: tuple[int, int] | None, *, standby: bool, width: int | None) -> Size:
    """Weigh one row of `queries.RELATIONS` with its measured bytes (heap, out of line).

    `reltuples` -1 and a zero that the file contradicts are unknown; a known one is a density and is scaled to the pages of
    today, as the planner does. Counters of a standby are its own and ignored.
    """
    pages, block = row.relpages, row.block_size
    heap = measured[0] if measured else None
    never = row.reltuples < 0 or (row.reltuples == 0 and pages == 0 and heap != 0)
    stale_zero = row.reltuples == 0 and not never and heap is not None and heap > pages * block
    current_pages = heap // block if heap is not None else pages
    rows: int | None = None
    if heap == 0:
        rows = 0
    elif not never and not stale_zero:
        rows = round(row.reltuples * current_pages / pages) if pages else round(row.reltuples)
    guess = None
    if rows is None and heap:
        per_page = max(1, (block - _PAGE_HEADER) // ((width or _UNKNOWN_WIDTH) + _TUPLE_OVERHEAD))
        guess = current_pages * per_page
    toast_known = row.toast_pages is not None and row.toast_pages > 0
    toast = measured[1] if measured else row.toast_pages * block if toast_known else None
    return Size(
        catalog_bytes=None if never or stale_zero else pages * block + (row.toast_pages or 0) * block,
        measured_bytes=None if measured is None else measured[0] + measured[1],
        out_of_line=toast,
        rows=rows,
        guessed_rows=guess,
        live_rows=None if standby else row.live or None,
        observed_at=max((moment for moment in (row.analyzed_at, row.vacuumed_at) if moment), default=None),
        changes=None if standby or row.analyzed_at is None else row.changed,
    )


def add_sizes(sizes: Sequence[Size]) -> tuple[Size, bool]:
    """Return the sum over the leaves of a partitioned table, and whether a leaf is partly unknown."""

    def total(values: Sequence[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    best = [size.rows if size.rows is not None else size.guessed_rows for size in sizes]
    moments = [size.observed_at for size in sizes if size.observed_at]
    complete = all(size.rows is not None for size in sizes)
    changes = [size.changes for size in sizes]
    summed = Size(
        catalog_bytes=total([s.catalog_bytes for s in sizes]) if all(s.catalog_bytes is not None for s in sizes) else None,
        measured_bytes=total([s.measured_bytes for s in sizes]),
        out_of_line=total([s.out_of_line for s in sizes]),
        rows=total([s.rows for s in sizes]) if complete and sizes else None,
        guessed_rows=None if complete else total(best),
        live_rows=total([s.live_rows for s in sizes]) if not complete and all(s.live_rows is not None for s in sizes) else None,
        observed_at=min(moments) if len(moments) == len(sizes) and moments else None,
        changes=total(changes) if all(change is not None for change in changes) else None,
    )
    unknown = any(size.rows is None and size.measured_bytes is None for size in sizes)
    return summed, unknown


def row_evidence(size: Size, now: datetime) -> tuple[Evidence, ...]:
    """Return the signals of the row count, the one to use first."""
    found = []
    if size.rows is not None:
        live_zero = size.rows == 0 and size.measured_bytes == 0
        known_age = size.observed_at is not None or size.changes is not None
        found.append(
            Evidence(
                signal="table_rows",
                value=size.rows,
                unit="rows",
                source="pg_relation_size" if live_zero else "pg_class.reltuples, rescaled",
                observed_at=now if live_zero else size.observed_at,
                quality=80 if known_age or live_zero else 60,
                basis=Basis.LIVE if live_zero else Basis.STATISTICS,
                changes=size.changes,
            )
        )
    if size.rows is None and size.live_rows:
        source = "pg_stat_all_tables.n_live_tup"
        found.append(_rows("table_rows", size.live_rows, source, 50, Basis.STATISTICS, None))
    if size.guessed_rows is not None:
        source = "a guess from pages and column widths, as the planner makes it"
        found.append(_rows("table_rows_guess", size.guessed_rows, source, 30, Basis.LIVE, now))
    return tuple(found)


def _rows(signal: str, value: int, source: str, quality: int, basis: Basis, moment: datetime | None) -> Evidence:
    return Evidence(signal=signal, value=value, unit="rows", source=source, observed_at=moment, quality=quality, basis=basis)


def byte_evidence(size: Size, now: datetime) -> tuple[Evidence, ...]:
    """Return the signals of the bytes a full read moves (heap and out of line), the one to use first."""
    found = []
    if size.catalog_bytes is not None and not (size.catalog_bytes == 0 and size.measured_bytes):
        known_age = size.observed_at is not None or size.changes is not None
        found.append(
            Evidence(
                signal="table_bytes",
                value=size.catalog_bytes,
                unit="B",
                source="pg_class.relpages",
                observed_at=size.observed_at,
                quality=80 if known_age else 60,
                basis=Basis.STATISTICS,
                changes=size.changes,
            )
        )
    if size.measured_bytes is not None:
        measured = Evidence(
            signal="table_bytes_measured",
            value=size.measured_bytes,
            unit="B",
            source="pg_relation_size",
            observed_at=now,
            quality=60,
            basis=Basis.LIVE,
        )
        first = not found or differs(size.catalog_bytes or 0, size.measured_bytes)
        found.insert(0 if first else 1, measured)
    return tuple(found)


def differs(catalog: int, measured: int) -> bool:
    """Whether two sizes are more than a factor of two apart; small ones never are."""
    low, high = sorted((catalog, measured))
    return high > 1 << 20 and high > low * STALE_SIZE
