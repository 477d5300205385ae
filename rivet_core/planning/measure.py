"""One measure for sizes: bytes as they lie in the source, so that past runs and the next one can be compared.

A run remembers the bytes of the files it wrote, compressed, and the table's size at the time. Rates need the same measure as
the expectation: the table's size for a run that read everything, rows times the table's own row width for one that read a part.
"""

from __future__ import annotations

from dataclasses import replace

from rivet_core.facts import ExportFacts, Mode, RunFact
from rivet_core.planning.sizes import row_width
from rivet_core.planning.work import number


def width_of(facts: ExportFacts) -> int:
    """Return the bytes that one row takes in the source, by the signals that the work is counted by."""
    rows = number(facts.table.rows[0]) if facts.table.rows else None
    size = number(facts.table.bytes[0]) if facts.table.bytes else None
    return row_width(facts, rows, size)[0]


def runs_by_source_bytes(facts: ExportFacts) -> tuple[RunFact, ...]:
    """Return the history with `bytes` in the source's measure; unknown where a run left nothing to compute it from."""
    width = width_of(facts)
    whole = facts.spec.mode in (Mode.FULL, Mode.CHUNKED)
    return tuple(replace(run, bytes=_source_bytes(run, width, whole=whole)) for run in facts.history)


def _source_bytes(run: RunFact, width: int, *, whole: bool) -> int | None:
    if whole and run.table_bytes is not None:
        return run.table_bytes
    return None if run.rows is None else run.rows * width
