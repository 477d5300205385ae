"""One measure for sizes: bytes as they lie in the source, so that past runs and the next one can be compared.

A run remembers the bytes of the files it wrote, compressed, and the table's size at the time. Rates need the same measure as
the expectation: the table's size for a run that read everything, rows times the table's own row width for one that read a part.
"""

from __future__ import annotations

from dataclasses import replace

from rivet_core.facts import ExportFacts, Mode, RunFact, TableFacts
from rivet_core.planning.work import number

ASSUMED_WIDTH = 160
"""Bytes of a row when nothing tells (scoring section 3)."""


def row_width(table: TableFacts) -> int:
    """Return the bytes that one row takes in the source: size over rows, else the statistics' average width, else 160."""
    rows = number(table.rows[0]) if table.rows else None
    size = number(table.bytes[0]) if table.bytes else None
    if rows and size:
        return max(1, size // rows)
    return table.avg_width or ASSUMED_WIDTH


def runs_by_source_bytes(facts: ExportFacts) -> tuple[RunFact, ...]:
    """Return the history with `bytes` in the source's measure; unknown where a run left nothing to compute it from."""
    width = row_width(facts.table)
    whole = facts.spec.mode in (Mode.FULL, Mode.CHUNKED)
    return tuple(replace(run, bytes=_source_bytes(run, width, whole=whole)) for run in facts.history)


def _source_bytes(run: RunFact, width: int, *, whole: bool) -> int | None:
    if whole and run.table_bytes is not None:
        return run.table_bytes
    return None if run.rows is None else run.rows * width
