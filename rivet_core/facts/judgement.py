"""Everything a classifier or a scoring rule may look at for one export: one immutable snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rivet_core.facts.catalog import ServerFacts, TableFacts
from rivet_core.facts.cursor import CursorVerdict, Mark
from rivet_core.facts.evidence import Evidence
from rivet_core.facts.export import ExportSpec
from rivet_core.facts.history import RunFact
from rivet_core.facts.reading import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaFacts:
    """What an incremental or windowed read is expected to move, never taken for the table's size."""

    rows: Evidence | None = None
    bytes: Evidence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFacts:
    """The snapshot. `history` is newest first; `cursor` the verdict on the column the mode reads by, or on the best candidate.

    `candidates` are the verdicts on every column that could mark progress, best first. `connections_free` is what the group
    has left, `None` when unknown. `as_of` is the plan's clock: all ages are computed against it.
    """

    spec: ExportSpec
    group: str
    table: TableFacts
    server: ServerFacts
    as_of: datetime
    cursor: CursorVerdict | None = None
    candidates: tuple[CursorVerdict, ...] = ()
    history: tuple[RunFact, ...] = ()
    last_success: datetime | None = None
    fingerprint: str = ""
    delta: DeltaFacts | None = None
    units: tuple[Unit, ...] = ()
    committed: tuple[Mark, ...] = ()
    previous: TableFacts | None = None
    """The table as the snapshot before this one saw it, for rates; `None` without one."""
    previous_at: datetime | None = None
    previous_columns: tuple[tuple[str, str], ...] | None = None
    """`(name, type)` of the columns of the last committed run, for drift."""
    max_connections: int | None = None
    workers: int = 1
    window_seconds: float = 86400.0
    """`planning.window`: how far from `as_of` a deadline counts as near."""
