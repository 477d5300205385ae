"""How hard a read presses on the source beyond its bytes (RV201, RV203).

A range read whose column leads no usable index makes every part scan the table. An order that cannot come from an index makes
the server sort, on disk when the rows exceed its sort memory. One index on the column removes both.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.rules.signals import catalog
from rivet_core.facts import ExportFacts, Mode, Reason
from rivet_core.planning.curve import MIB
from rivet_core.planning.ranges import cursor_columns, range_column, range_is_indexed
from rivet_core.planning.remedies import create_index
from rivet_core.planning.suggest import table_size
from rivet_core.planning.taxonomy import TAXONOMY, reason
from rivet_core.planning.wording import size_text
from rivet_core.planning.work import select_work, size_signals

SORT_MEMORY = 4 * MIB
"""What a server sorts in memory: PostgreSQL's default work_mem; MySQL's sort buffer is smaller."""


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons of a range read without an index."""
    column = range_column(facts)
    if column is None or range_is_indexed(facts):
        return ()
    work = select_work(facts)
    size = table_size(work)
    columns = _ordered_columns(facts, column)
    remedy = "" if facts.spec.query else create_index(facts.table, facts.server, *columns)
    evidence = [catalog(f"{column}.leads_index", False)]
    whole = "the whole table (size unknown)" if size is None else f"the whole table ({size_text(size)})"
    found = [
        reason(
            "RV201",
            f"No usable index leads with {column}: every part scans {whole}.",
            evidence=evidence,
            remedy=remedy,
            potential=TAXONOMY["RV201"].points,
        )
    ]
    if facts.spec.mode in (Mode.INCREMENTAL, Mode.CHUNKED):
        sorted_bytes = work.delta_bytes if work.delta_bytes is not None else size
        if sorted_bytes is None or sorted_bytes > SORT_MEMORY:
            amount = "an unknown amount" if sorted_bytes is None else size_text(sorted_bytes)
            found.append(
                reason(
                    "RV203",
                    f"The order by {', '.join(columns)} cannot come from an index: the server sorts {amount}.",
                    evidence=[*evidence, *size_signals(facts, work)],
                    remedy=remedy,
                    potential=TAXONOMY["RV203"].points,
                )
            )
    return found


def _ordered_columns(facts: ExportFacts, column: str) -> tuple[str, ...]:
    """The columns an index should hold: the cursor with its tie breaker, else the range column."""
    if facts.spec.mode is Mode.INCREMENTAL and facts.spec.incremental_cursor_mode == "pair":
        return cursor_columns(facts.spec)
    return (column,)
