"""The state store: what planning reads, what running writes, what reports show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Engine, delete, insert, select

from rivet_core.facts import Json, Mark, RunFact
from rivet_core.state.database import Database, put
from rivet_core.state.leases import Leases
from rivet_core.state.marks import marks_from_json, marks_to_json
from rivet_core.state.models import CURSORS, EVENTS, METRICS, PROGRESS, RUNS, SNAPSHOTS
from rivet_core.state.records import Event, Metric, Progress, Snapshot
from rivet_core.state.reset import forget_progress
from rivet_core.state.runs import Runs
from rivet_core.state.transfer import PastRun, copy_rows, restore_rows

SNAPSHOTS_KEPT = 2
"""Catalog snapshots kept per source: two of them give rates."""


ACCEPTED = "schema_accepted"
"""Kind of the journal entry that `rivet state accept` makes."""

RECONCILED = "reconciled"
"""Kind of the journal entry that `rivet reconcile` makes."""


class StateStore:
    """One open state database. Usable from several threads; several processes may have it open."""

    def __init__(self, engine: Engine, *, read_only: bool = False) -> None:
        self._database = Database(engine, read_only=read_only)
        self.runs = Runs(self._database)
        self.leases = Leases(self._database)
        self.read_only = read_only

    def __enter__(self) -> StateStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def hurry(self) -> None:
        """Wait no longer than moments for other writers from now on: the process is to end."""
        self._database.patience.hurry()

    def close(self) -> None:
        """Give the connections back. Closing twice is fine."""
        self.leases.close()
        self._database.close()

    # -- cursors and progression

    def cursors(self) -> dict[str, tuple[Mark, ...]]:
        """Return every export's committed cursor."""
        with self._database.reading() as connection:
            return {row.export: marks_from_json(row.marks) for row in connection.execute(select(CURSORS))}

    def cursor(self, export: str) -> tuple[Mark, ...]:
        """Return one export's committed cursor, empty when it is unset."""
        with self._database.reading() as connection:
            return marks_from_json(connection.execute(select(CURSORS.c.marks).where(CURSORS.c.export == export)).scalar())

    def set_cursor(self, export: str, marks: tuple[Mark, ...], run_id: str = "") -> None:
        """Set a cursor outside of a run; no marks clear it."""
        with self._database.writing() as connection:
            if marks:
                put(connection, CURSORS, export=export, marks=marks_to_json(marks), run_id=run_id, updated_at=_now())
            else:
                connection.execute(delete(CURSORS).where(CURSORS.c.export == export))
                connection.execute(delete(PROGRESS).where(PROGRESS.c.export == export))

    def reset(self, export: str) -> str | None:
        """Start an export over; return the id of the broken-off run that was forgotten, `None` when there was none."""
        return forget_progress(self._database, export)

    def restore(self, export: str, runs: Sequence[PastRun], cursor: tuple[Mark, ...]) -> int:
        """Put back what the manifests of an export's dataset say; return how many runs the state did not know."""
        return restore_rows(self._database, export, runs, cursor)

    def copy_to(self, target: StateStore) -> dict[str, int]:
        """Copy everything into an empty state; return the number of rows per table."""
        return copy_rows(self._database, target._database)

    def progression(self) -> dict[str, Progress]:
        """Return the observed, committed and verified boundary of every export."""
        with self._database.reading() as connection:
            return {
                row.export: Progress(
                    export=row.export,
                    observed=marks_from_json(row.observed),
                    committed=marks_from_json(row.committed),
                    verified=marks_from_json(row.verified),
                    observed_at=row.observed_at,
                    committed_at=row.committed_at,
                    verified_at=row.verified_at,
                )
                for row in connection.execute(select(PROGRESS))
            }

    def verify(self, export: str, committed: tuple[Mark, ...]) -> bool:
        """Move the verified boundary to `committed`, only while that still is the committed one. Return whether it moved."""
        with self._database.writing() as connection:
            row = connection.execute(select(PROGRESS).where(PROGRESS.c.export == export)).first()
            if row is None or marks_from_json(row.committed) != committed:
                return False
            connection.execute(
                PROGRESS.update()
                .where(PROGRESS.c.export == export)
                .values(verified=marks_to_json(committed), verified_at=_now())
            )
            return True

    # -- history

    def histories(self, limit: int = 20) -> Mapping[str, tuple[RunFact, ...]]:
        """Return the newest runs of every export, newest first."""
        return self.runs.histories(limit)

    def committed_by_plan(self, plan_id: str) -> set[str]:
        """Return the exports that a run of this plan has committed."""
        with self._database.reading() as connection:
            rows = connection.execute(select(RUNS.c.export).where(RUNS.c.plan_id == plan_id, RUNS.c.status == "succeeded"))
            return {row.export for row in rows}

    def last_columns(self, export: str) -> tuple[tuple[str, str], ...] | None:
        """Return `(name, type)` of the columns of the last committed run, `None` when there was none."""
        with self._database.reading() as connection:
            found = connection.execute(
                select(RUNS.c.columns)
                .where(RUNS.c.export == export, RUNS.c.status == "succeeded", RUNS.c.columns.is_not(None))
                .order_by(RUNS.c.started_at.desc())
                .limit(1)
            ).scalar()
        return None if found is None else tuple((str(column["name"]), str(column["type"])) for column in found)

    def all_last_columns(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return `last_columns` of every export at once, for plans of thousands of exports."""
        found: dict[str, tuple[tuple[str, str], ...]] = {}
        with self._database.reading() as connection:
            rows = connection.execute(
                select(RUNS.c.export, RUNS.c.columns)
                .where(RUNS.c.status == "succeeded", RUNS.c.columns.is_not(None))
                .order_by(RUNS.c.started_at)
            )
            for row in rows:
                found[row.export] = tuple((str(column["name"]), str(column["type"])) for column in row.columns or ())
        return found

    def metrics(self, export: str | None = None, limit: int = 1000) -> list[Metric]:
        """Return graded runs, newest first."""
        query = select(METRICS).order_by(METRICS.c.at.desc()).limit(limit)
        if export is not None:
            query = query.where(METRICS.c.export == export)
        with self._database.reading() as connection:
            return [Metric(**{name: getattr(row, name) for name in Metric.__slots__}) for row in connection.execute(query)]

    # -- journal

    def record(self, events: Iterable[Event]) -> None:
        """Append to the journal."""
        rows = [{"at": e.at, "kind": e.kind, "plan_id": e.plan_id, "export": e.export, "data": dict(e.data)} for e in events]
        if rows:
            with self._database.writing() as connection:
                connection.execute(insert(EVENTS), rows)

    def events(self, *, export: str | None = None, plan_id: str | None = None, limit: int = 1000) -> list[Event]:
        """Return the newest entries of the journal, oldest first."""
        query = select(EVENTS).order_by(EVENTS.c.id.desc()).limit(limit)
        if export is not None:
            query = query.where(EVENTS.c.export == export)
        if plan_id is not None:
            query = query.where(EVENTS.c.plan_id == plan_id)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return [
            Event(at=row.at, kind=row.kind, plan_id=row.plan_id, export=row.export, data=row.data or {})
            for row in reversed(rows)
        ]

    def accept_schema(self, export: str, run_id: str) -> None:
        """Let the next run change the columns of a dataset whose newest run is `run_id`, whatever `on_schema_drift` says."""
        data: dict[str, Json] = {"run_id": run_id}
        self.record([Event(at=_now(), kind=ACCEPTED, plan_id="", export=export, data=data)])

    def schema_accepted(self, export: str, run_id: str) -> bool:
        """Whether somebody accepted other columns after the run `run_id`; the next commit uses that up."""
        query = select(EVENTS.c.data).where(EVENTS.c.export == export, EVENTS.c.kind == ACCEPTED)
        with self._database.reading() as connection:
            return any(data and data.get("run_id") == run_id for data in connection.execute(query).scalars())

    def record_reconcile(self, export: str, result: str, data: Mapping[str, Json]) -> None:
        """Keep what a reconcile of an export's dataset found."""
        self.record([Event(at=_now(), kind=RECONCILED, plan_id="", export=export, data={"result": result, **data})])

    def record_repair(self, export: str, data: Mapping[str, Json]) -> None:
        """Keep that units of an export were exported again."""
        self.record([Event(at=_now(), kind="repaired", plan_id="", export=export, data=data)])

    def reconciles(self) -> dict[str, Event]:
        """Return the newest reconcile of every export that had one."""
        query = select(EVENTS).where(EVENTS.c.kind == RECONCILED).order_by(EVENTS.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return {
            row.export: Event(at=row.at, kind=row.kind, plan_id=row.plan_id, export=row.export, data=row.data) for row in rows
        }

    # -- catalog snapshots

    def snapshot(self, source: str) -> Snapshot | None:
        """Return the newest catalog snapshot of a source."""
        return next(iter(self.snapshots(source)), None)

    def snapshots(self, source: str) -> tuple[Snapshot, ...]:
        """Return the catalog snapshots kept of a source, newest first; two of them give rates."""
        query = select(SNAPSHOTS).where(SNAPSHOTS.c.source == source).order_by(SNAPSHOTS.c.observed_at.desc())
        with self._database.reading() as connection:
            rows = connection.execute(query.limit(SNAPSHOTS_KEPT)).all()
        return tuple(Snapshot(source=row.source, observed_at=row.observed_at, data=row.data) for row in rows)

    def save_snapshot(self, source: str, data: Mapping[str, Json], observed_at: datetime) -> None:
        """Keep a catalog snapshot, dropping all but the newest of the older ones."""
        with self._database.writing() as connection:
            put(connection, SNAPSHOTS, source=source, observed_at=observed_at, data=dict(data))
            kept = connection.execute(
                select(SNAPSHOTS.c.observed_at)
                .where(SNAPSHOTS.c.source == source)
                .order_by(SNAPSHOTS.c.observed_at.desc())
                .limit(SNAPSHOTS_KEPT)
            ).scalars()
            oldest = min(kept)
            connection.execute(delete(SNAPSHOTS).where(SNAPSHOTS.c.source == source, SNAPSHOTS.c.observed_at < oldest))

    def expire_snapshots(self, source: str) -> None:
        """Let no snapshot of a source that was seen to have changed stand in for asking again; rates still come of them."""
        with self._database.writing() as connection:
            for row in connection.execute(select(SNAPSHOTS).where(SNAPSHOTS.c.source == source)).all():
                put(connection, SNAPSHOTS, source=source, observed_at=row.observed_at, data={**row.data, "asked": {}})


def _now() -> datetime:
    return datetime.now(UTC)
