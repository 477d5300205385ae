"""How many rows an incremental or windowed read will move, asked before any is read: of which table, and about which range.

A source answers with its optimizer's own guess for the range (one EXPLAIN), or from the two ends of an index. Only for tables
large enough that it matters, and at most so many times in a session, so that planning thousands of exports stays cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rivet_core.facts import RelationKind, TableFacts, Unit, UnitKind

LARGE_BYTES = 8 << 20
"""A smaller table is read in a second, whatever part of it."""
MOST_ASKED = 500
"""How often one session asks; further exports are costed by their whole table."""
_STORED = (RelationKind.TABLE, RelationKind.PARTITIONED)


@dataclass(slots=True)
class DeltaQuestions:
    """What one session still asks."""

    left: int = MOST_ASKED

    def range_of(self, table: TableFacts, units: Sequence[Unit]) -> Unit | None:
        """Return the range to ask about: the rows past a cursor, or the days of a window as one; `None` for none."""
        ranges = [unit for unit in units if unit.kind in (UnitKind.CURSOR, UnitKind.WINDOW)]
        size = next((evidence.value for evidence in table.bytes if isinstance(evidence.value, int | float)), 0)
        if not ranges or not ranges[0].lower or table.kind not in _STORED or size < LARGE_BYTES or self.left <= 0:
            return None
        self.left -= 1
        return replace(ranges[0], upper=ranges[-1].upper, upper_inclusive=ranges[-1].upper_inclusive)


def with_rows(units: Sequence[Unit], rows: int | None) -> tuple[Unit, ...]:
    """Return the units with the expected rows of their common range; a window's days get equal shares."""
    count = sum(unit.kind in (UnitKind.CURSOR, UnitKind.WINDOW) for unit in units)
    if rows is None or not count:
        return tuple(units)
    found = []
    for unit in units:
        if unit.kind in (UnitKind.CURSOR, UnitKind.WINDOW):
            share = -(-rows // count)
            rows, count = rows - share, count - 1
            found.append(replace(unit, rows=share))
        else:
            found.append(unit)
    return tuple(found)
