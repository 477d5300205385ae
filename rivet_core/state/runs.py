"""Runs: begun, their units ticked off one by one, finished. The order of writes is the executor's (I1-I7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, func, insert, null, select, update
from sqlalchemy.exc import SQLAlchemyError

from rivet_core.facts import Json, Mark, RunFact
from rivet_core.state.database import Database, put
from rivet_core.state.marks import marks_to_json
from rivet_core.state.models import CURSORS, METRICS, PARTS, PROGRESS, RUNS, UNITS
from rivet_core.state.records import Metric, PartRecord, Resumable, RunStart, UnitRecord
from rivet_core.state.run_rows import fact_of, resumable_of

# Statements of every export's path, built once: building them costs more than running them.
_RUN = RUNS
_OPEN = RUNS.c.status == "running"
_ABANDON = (
    update(_RUN)
    .where(RUNS.c.export == bindparam("of"), RUNS.c.status != "succeeded", _OPEN | RUNS.c.units.is_not(None))
    .values(
        status=case((_OPEN, "killed"), else_=RUNS.c.status),
        finished_at=case((_OPEN, bindparam("now", type_=RUNS.c.finished_at.type)), else_=RUNS.c.finished_at),
        # By the clock of another host it may be the newest one for long: without units it is never taken up again.
        units=null(),
    )
)
_BEGIN = insert(_RUN)
# What came to the state as committed stays so, whatever goes wrong afterwards.
_END = (
    update(_RUN)
    .where(RUNS.c.run_id == bindparam("id"), RUNS.c.status != "succeeded")
    .values(
        {
            name: bindparam(name)
            for name in ("status", "finished_at", "seconds", "rows", "bytes", "retries", "columns", "error", "error_class")
        }
    )
)
MOST_ENDS = 10
"""How many ends of one run are kept."""

_STATUS = select(RUNS.c.status).where(RUNS.c.run_id == bindparam("id"))
_ADD_UNIT = insert(UNITS)
_ADD_PART = insert(PARTS)
_FORGET_UNITS = delete(UNITS).where(UNITS.c.run_id == bindparam("id"))
_FORGET_PARTS = delete(PARTS).where(PARTS.c.run_id == bindparam("id"))
_FORGET_UNIT = delete(UNITS).where(UNITS.c.run_id == bindparam("id"), UNITS.c.unit == bindparam("number"))
_FORGET_UNIT_PARTS = delete(PARTS).where(PARTS.c.run_id == bindparam("id"), PARTS.c.unit == bindparam("number"))
_CLEAR_CURSOR = delete(CURSORS).where(CURSORS.c.export == bindparam("of"))
_CLEAR_PROGRESS = delete(PROGRESS).where(PROGRESS.c.export == bindparam("of"))
_ADD_METRIC = insert(METRICS)
_FORGET_METRIC = delete(METRICS).where(METRICS.c.run_id == bindparam("id"))


class Runs:
    """The log of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, start: RunStart) -> None:
        """Record that a run has begun; a run of the export that did not finish will not be resumed any more."""
        with self._database.writing() as connection:
            connection.execute(_ABANDON, {"of": start.export, "now": _now()})
            connection.execute(
                _BEGIN,
                {
                    "run_id": start.run_id,
                    "export": start.export,
                    "plan_id": start.plan_id,
                    "fingerprint": start.fingerprint,
                    "source_fingerprint": start.source_fingerprint,
                    "mode": start.mode,
                    "status": "running",
                    "started_at": start.started_at,
                    "predicted_seconds": start.predicted_seconds,
                    "table_bytes": start.table_bytes,
                    "retries": 0,
                    "error_class": "",
                    "units": [unit.to_json() for unit in start.units],
                    "cursor_before": marks_to_json(start.cursor_before),
                },
            )

    def reopen(self, found: Resumable) -> None:
        """Take up a broken-off run again. How it ended stays known: it may end so again, and again."""
        values = {"status": "running", "finished_at": None, "error": None, "error_class": "", "earlier": found.ends[:MOST_ENDS]}
        with self._database.writing() as connection:
            connection.execute(update(RUNS).where(RUNS.c.run_id == found.run_id).values(values))

    def unit_done(self, run_id: str, unit: UnitRecord, *, again: bool = True) -> None:
        """Record that all parts of a unit are published (I5). `again` when it may have been recorded before: it is replaced."""
        with self._database.writing() as connection:
            if again:
                connection.execute(_FORGET_UNIT_PARTS, {"id": run_id, "number": unit.unit})
                connection.execute(_FORGET_UNIT, {"id": run_id, "number": unit.unit})
            connection.execute(
                _ADD_UNIT,
                {
                    "run_id": run_id,
                    "unit": unit.unit,
                    "rows": unit.rows,
                    "bytes": unit.bytes,
                    "marks": marks_to_json(unit.marks),
                    "counts": dict(unit.counts),
                    "schema": list(unit.schema),
                    "done_at": _now(),
                },
            )
            if unit.parts:
                connection.execute(_ADD_PART, [_part_values(run_id, part) for part in unit.parts])

    def commit(
        self,
        run_id: str,
        export: str,
        *,
        rows: int,
        size: int,
        seconds: float | None,
        retries: int,
        columns: Sequence[Json],
        cursor: tuple[Mark, ...] | None,
        keep_cursor: bool,
        forget_units: bool = True,
        metric: Metric | None = None,
    ) -> bool:
        """Finish a run whose dataset is committed, and move the cursor with it, in one transaction (I3, I6).

        `cursor` is the new cursor; `None` leaves it as it is when `keep_cursor`, else clears it: a dataset that was replaced
        as a whole no longer has the old one's cursor. `forget_units` is false when none were recorded. `columns` are
        `{name, type}` in the source's own spelling, empty when nobody knows. `seconds` is `None` where
        nobody knows what the whole run takes. `metric` is its grade (I4).
        Return whether that was kept: a grade that is lost takes no commit back.

        A run that is known as committed is left as it is: its process stood still, and others have gone on from there.
        """
        now = _now()
        with self._database.writing() as connection:
            ended = connection.execute(
                _END,
                {
                    "id": run_id,
                    "status": "succeeded",
                    "finished_at": now,
                    "seconds": seconds,
                    "rows": rows,
                    "bytes": size,
                    "retries": retries,
                    "columns": list(columns) or None,
                    "error": None,
                    "error_class": "",
                },
            )
            if not ended.rowcount and connection.execute(_STATUS, {"id": run_id}).scalar() is not None:
                return True
            if cursor is not None:
                put(connection, CURSORS, export=export, marks=marks_to_json(cursor), run_id=run_id, updated_at=now)
                marks = marks_to_json(cursor)
                _progress(connection, export, observed=marks, observed_at=now, committed=marks, committed_at=now)
            elif not keep_cursor:
                connection.execute(_CLEAR_CURSOR, {"of": export})
                connection.execute(_CLEAR_PROGRESS, {"of": export})
            if forget_units:
                connection.execute(_FORGET_PARTS, {"id": run_id})
                connection.execute(_FORGET_UNITS, {"id": run_id})
            return metric is None or _could_keep(connection, metric)

    def fail(
        self,
        run_id: str,
        *,
        status: str,
        seconds: float,
        retries: int,
        error_class: str,
        error: Mapping[str, Json],
        rows: int | None = None,
        size: int | None = None,
        observed: Mapping[str, tuple[Mark, ...]] = MappingProxyType({}),
    ) -> None:
        """Close a run that did not commit. Its units stay, so that it can be resumed; so does how far it read, by export."""
        with self._database.writing() as connection:
            for export, marks in observed.items():
                _progress(connection, export, observed=marks_to_json(marks), observed_at=_now())
            connection.execute(
                _END,
                {
                    "id": run_id,
                    "status": status,
                    "finished_at": _now(),
                    "seconds": seconds,
                    "rows": rows,
                    "bytes": size,
                    "retries": retries,
                    "columns": None,
                    "error": dict(error),
                    "error_class": error_class,
                },
            )

    def grade(self, metric: Metric) -> None:
        """Keep what a run took beside what was predicted; only after its verdict is known (I4)."""
        with self._database.writing() as connection:
            _keep_metric(connection, metric)

    def resumable(self, export: str) -> Resumable | None:
        """Return the newest run of an export when it did not finish, else `None`."""
        with self._database.reading() as connection:
            row = connection.execute(
                select(RUNS).where(RUNS.c.export == export).order_by(RUNS.c.started_at.desc(), RUNS.c.run_id.desc()).limit(1)
            ).first()
            if row is None or row.status == "succeeded":
                return None
            units = connection.execute(select(UNITS).where(UNITS.c.run_id == row.run_id).order_by(UNITS.c.unit)).all()
            parts = connection.execute(
                select(PARTS).where(PARTS.c.run_id == row.run_id).order_by(PARTS.c.unit, PARTS.c.partition, PARTS.c.part)
            ).all()
        return resumable_of(row, units, parts)

    def status(self, run_id: str) -> str | None:
        """Return a run's status, `None` when it is unknown."""
        with self._database.reading() as connection:
            found: str | None = connection.execute(_STATUS, {"id": run_id}).scalar()
        return found

    def live(self) -> set[str]:
        """Return the ids of runs that are running, or that could be resumed: `gc` spares their files (M15)."""
        newest = select(RUNS.c.export, func.max(RUNS.c.started_at).label("at")).group_by(RUNS.c.export).subquery()
        with self._database.reading() as connection:
            rows = connection.execute(
                select(RUNS.c.run_id)
                .join(newest, (newest.c.export == RUNS.c.export) & (newest.c.at == RUNS.c.started_at))
                .where(RUNS.c.status != "succeeded")
            ).all()
            running = connection.execute(select(RUNS.c.run_id).where(RUNS.c.status == "running")).all()
        return {row.run_id for row in (*rows, *running)}

    def histories(self, limit: int) -> dict[str, tuple[RunFact, ...]]:
        """Return the newest `limit` runs of every export, newest first, in one statement."""
        place = func.row_number().over(partition_by=RUNS.c.export, order_by=(RUNS.c.started_at.desc(), RUNS.c.run_id.desc()))
        ranked = select(RUNS, place.label("place")).subquery()
        found: dict[str, list[RunFact]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(
                select(ranked).where(ranked.c.place <= limit).order_by(ranked.c.export, ranked.c.place)
            ):
                found.setdefault(row.export, []).append(fact_of(row))
        return {export: tuple(facts) for export, facts in found.items()}


def _could_keep(connection: Connection, metric: Metric) -> bool:
    try:
        with connection.begin_nested():
            _keep_metric(connection, metric)
    except SQLAlchemyError:
        return False
    return True


def _keep_metric(connection: Connection, metric: Metric) -> None:
    connection.execute(_FORGET_METRIC, {"id": metric.run_id})
    connection.execute(_ADD_METRIC, {name: getattr(metric, name) for name in Metric.__slots__})


def _progress(connection: Connection, export: str, **values: Any) -> None:
    changed = connection.execute(update(PROGRESS).where(PROGRESS.c.export == export).values(**values))
    if not changed.rowcount:
        connection.execute(insert(PROGRESS).values(export=export, **values))


def _part_values(run_id: str, part: PartRecord) -> dict[str, Any]:
    return {"run_id": run_id, **{name: getattr(part, name) for name in PartRecord.__slots__}, "columns": dict(part.columns)}


def _now() -> datetime:
    return datetime.now(UTC)
