"""From the units of a run to its manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rivet_core.errors import IntegrityError
from rivet_core.facts import Mark, Mode, Unit, UnitKind
from rivet_core.running.continuity import subject_of
from rivet_core.running.drift import schema_fingerprint
from rivet_core.running.manifest import Manifest, ManifestPart, window_of
from rivet_core.running.position import furthest
from rivet_core.running.task import ExportTask
from rivet_core.state import UnitRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a manifest says besides its parts. `cursor` is where the run started from."""

    task: ExportTask
    run_id: str
    started_at: datetime
    units: tuple[Unit, ...]
    cursor: tuple[Mark, ...]
    drift: tuple[str, ...] = ()


def describe(run: RunFacts, records: Sequence[UnitRecord]) -> Manifest:
    """Return the manifest of a run whose units are all published.

    Delivery is `at_least_once` when a cursor unit begins at a row that was delivered before; the columns to deduplicate by are
    then those that break the cursor's ties, none when only the whole row tells two apart.
    """
    spec = run.task.spec
    units = {unit.index: unit for unit in run.units}
    schemas = {schema_fingerprint(record.schema): record.schema for record in records if record.schema}
    if len(schemas) > 1:
        raise IntegrityError(
            f"{spec.name}: the units of this run have different columns",
            hint="the table was altered after the run was broken off: run it again without --resume",
            code="schema_changed",
        )
    schema = next(iter(schemas.values()), ())
    fingerprint = schema_fingerprint(schema)
    incremental = spec.mode is Mode.INCREMENTAL
    again = [unit for unit in run.units if unit.kind is UnitKind.CURSOR and unit.lower and unit.lower_inclusive]
    counts: Counter[str] = Counter()
    for record in records:
        counts.update(record.counts)
    return Manifest(
        export=spec.name,
        run_id=run.run_id,
        plan_id=run.task.plan_id,
        fingerprint=run.task.fingerprint,
        mode=str(spec.mode),
        format=spec.format,
        started_at=run.started_at.isoformat(),
        finished_at=datetime.now(UTC).isoformat(),
        parts=tuple(
            ManifestPart.of(part, units[record.unit], record.marks or (), fingerprint)
            for record in records
            for part in record.parts
        ),
        schema=schema,
        schema_fingerprint=fingerprint,
        cursor_before=run.cursor,
        cursor_after=furthest(run.cursor, [record.marks for record in records if record.marks]) if incremental else None,
        delivery="at_least_once" if again else "exactly_once",
        dedupe_key=again[0].columns[2 if spec.cursor_fallback_column else 1 :] if again else (),
        counts=dict(counts),
        drift=run.drift,
        days=tuple(dict.fromkeys(window_of(unit) for unit in run.units if window_of(unit))),
        subject=subject_of(spec),
        has_nulls=incremental and any(unit.kind is UnitKind.NULLS for unit in run.units),
        units=run.units,
    )
