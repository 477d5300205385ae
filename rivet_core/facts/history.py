"""One past run of an export, as the state store remembers it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFact:
    """A finished or broken-off run. `status` is `succeeded`, `failed`, `killed` or `running`; seconds are wall time.

    Only succeeded runs enter averages; failed ones are floors. `fingerprint` identifies mode and source statement, so that a
    changed export does not inherit another's history. `table_bytes` is the size known when it ran, for scaling.
    """

    run_id: str
    status: str
    started_at: datetime
    finished_at: datetime | None = None
    seconds: float | None = None
    rows: int | None = None
    bytes: int | None = None
    table_bytes: int | None = None
    mode: str = ""
    fingerprint: str = ""
    error_class: str = ""
    retries: int = 0
    predicted_seconds: float | None = None
    earlier: tuple[tuple[str, str], ...] = ()
    """How it ended each time before it was resumed, newest first: status and class of the error."""
