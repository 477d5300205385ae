"""Whole states: copied from one database to another, and runs put back that only their manifests remember."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Table, delete, func, insert, select

from rivet_core.errors import ConfigError
from rivet_core.facts import Mark
from rivet_core.state.database import Database, put
from rivet_core.state.marks import marks_to_json
from rivet_core.state.models import (
    CURSORS,
    EVENTS,
    METRICS,
    PARTS,
    PROGRESS,
    RUNS,
    SNAPSHOTS,
    UNITS,
)

BATCH = 500
"""Rows that are copied by one statement."""

_COPIED: tuple[Table, ...] = (CURSORS, RUNS, UNITS, PARTS, PROGRESS, METRICS, EVENTS, SNAPSHOTS)
"""Everything but the schema's version, which the target has, and leases, which belong to living processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A committed run as its manifest tells it. `source_fingerprint` is empty when nobody knows it any more."""

    run_id: str
    export: str
    plan_id: str
    fingerprint: str
    source_fingerprint: str
    mode: str
    started_at: datetime
    finished_at: datetime
    rows: int
    bytes: int
    cursor_before: tuple[Mark, ...] = ()


def copy_rows(source: Database, target: Database) -> dict[str, int]:
    """Copy every row of a state into an empty one, in one transaction; return the number of rows per table.

    Raises `ConfigError` when the target holds runs or cursors already.
    """
    copied: dict[str, int] = {}
    with source.reading() as reading, target.writing() as writing:
        for telling in (CURSORS, RUNS):
            if writing.execute(select(func.count()).select_from(telling)).scalar():
                raise ConfigError(
                    "the state to copy into is not empty", hint="copy into a new database", code="state_not_empty"
                )
        for place in _COPIED:
            writing.execute(delete(place))
            # The target numbers its events itself, so that its own sequence goes on behind them.
            columns = [column for column in place.columns if not (place is EVENTS and column.name == "id")]
            rows = [dict(row._mapping) for row in reading.execute(select(*columns).order_by(*place.primary_key))]
            for start in range(0, len(rows), BATCH):
                writing.execute(insert(place), rows[start : start + BATCH])
            copied[place.name] = len(rows)
    return copied


def restore_rows(database: Database, export: str, runs: Sequence[PastRun], cursor: tuple[Mark, ...]) -> int:
    """Put an export's runs back that the state does not know, and its cursor; return how many runs were new.

    No cursor clears one that the state has: the dataset is what was delivered.
    """
    added = 0
    with database.writing() as connection:
        for run in runs:
            if connection.execute(select(RUNS.c.run_id).where(RUNS.c.run_id == run.run_id)).first() is not None:
                continue
            put(
                connection,
                RUNS,
                run_id=run.run_id,
                export=export,
                plan_id=run.plan_id,
                fingerprint=run.fingerprint,
                source_fingerprint=run.source_fingerprint,
                mode=run.mode,
                status="succeeded",
                started_at=run.started_at,
                finished_at=run.finished_at,
                seconds=(run.finished_at - run.started_at).total_seconds(),
                rows=run.rows,
                bytes=run.bytes,
                retries=0,
                error_class="",
                cursor_before=marks_to_json(run.cursor_before),
            )
            added += 1
        last = runs[-1] if runs else None
        for place in (CURSORS, PROGRESS):
            connection.execute(delete(place).where(place.c.export == export))
        if cursor and last is not None:
            marks = marks_to_json(cursor)
            put(connection, CURSORS, export=export, marks=marks, run_id=last.run_id, updated_at=last.finished_at)
            at = last.finished_at
            put(connection, PROGRESS, export=export, observed=marks, observed_at=at, committed=marks, committed_at=at)
    return added
