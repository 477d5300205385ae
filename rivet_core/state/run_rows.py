"""What the rows of a run, of its units and of their parts are as records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rivet_core.facts import RunFact
from rivet_core.state.marks import marks_from_json, units_from_json
from rivet_core.state.records import PartRecord, Resumable, UnitRecord


def resumable_of(row: Any, units: Sequence[Any], parts: Sequence[Any]) -> Resumable:
    """Return a run that did not finish, with the units that it had published."""
    return Resumable(
        run_id=row.run_id,
        plan_id=row.plan_id,
        fingerprint=row.fingerprint,
        started_at=row.started_at,
        units=units_from_json(row.units),
        cursor_before=marks_from_json(row.cursor_before),
        done=tuple(
            UnitRecord(
                unit=unit.unit,
                rows=unit.rows,
                bytes=unit.bytes,
                marks=None if unit.marks is None else marks_from_json(unit.marks),
                counts=unit.counts or {},
                schema=tuple(unit.schema or ()),
                parts=tuple(_part(part) for part in parts if part.unit == unit.unit),
            )
            for unit in units
        ),
        ends=((row.status, row.error_class or ""), *_ends(row.earlier)),
    )


def fact_of(row: Any) -> RunFact:
    """Return a run as planning sees it."""
    return RunFact(
        run_id=row.run_id,
        status=row.status,
        started_at=row.started_at,
        finished_at=row.finished_at,
        seconds=row.seconds,
        rows=row.rows,
        bytes=row.bytes,
        table_bytes=row.table_bytes,
        mode=row.mode,
        fingerprint=row.source_fingerprint,
        error_class=row.error_class or "",
        retries=row.retries or 0,
        predicted_seconds=row.predicted_seconds,
        earlier=_ends(row.earlier),
    )


def _part(row: Any) -> PartRecord:
    return PartRecord(**{name: getattr(row, name) for name in PartRecord.__slots__})


def _ends(earlier: Sequence[Sequence[str]] | None) -> tuple[tuple[str, str], ...]:
    return tuple((status, error_class) for status, error_class in earlier or ())
