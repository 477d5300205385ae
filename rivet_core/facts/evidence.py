"""Evidence: one signal with where it comes from, how old it is and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A value that JSON can hold."""


class Basis(StrEnum):
    """What kind of source a signal has; it decides how the signal ages (scoring section 4)."""

    DECLARED = "declared"
    """Said in the config: quality 100, never ages."""
    CATALOG = "catalog"
    """A fact of the schema (an index, a type): read now, does not age."""
    LIVE = "live"
    """Measured now on the server (a file size): read now."""
    STATISTICS = "statistics"
    """Sampled or counted statistics: ages by the changes since, or by time with a half-life of 7 days."""
    HISTORY = "history"
    """Rivet's own runs: half-life 30 days."""
    ACTIVITY = "activity"
    """One sample of load: half-life 5 minutes."""
    PRIOR = "prior"
    """Nothing known, an assumption: quality 20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One signal.

    `quality` is 0..100 for a fresh value (metadata.md); `observed_at` is when the value was true (for statistics: when they
    were taken), `None` when nobody knows; `changes` counts rows written since then, `None` when unknown. `basis` and `changes`
    feed the confidence and are not part of the plan file.
    """

    signal: str
    value: int | float | str | bool | None
    unit: str
    source: str
    observed_at: datetime | None
    quality: int
    basis: Basis = Basis.CATALOG
    changes: int | None = None
