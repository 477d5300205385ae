"""How far a cursor has come."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.errors import ConfigError
from rivet_core.facts import Mark
from rivet_core.sql.marks import micros_of


def furthest(before: tuple[Mark, ...], reached: Sequence[tuple[Mark, ...]]) -> tuple[Mark, ...]:
    """Return the cursor after a run: what its cursor unit reached, never behind where it was, unchanged without rows.

    Only a lookback can deliver nothing but older rows, and only times can look back, so no other order is needed here.
    """
    if not reached:
        return before
    after = reached[-1]
    if before and after and (before[0].column, before[0].type) == (after[0].column, after[0].type):
        try:
            if micros_of(after[0].value) < micros_of(before[0].value):
                return before
        except ConfigError:
            return after
    return after
