"""Repair: the units that a reconcile found bad are exported again, and their new parts take the place of the old ones.

The new parts lie beside the old ones under names of their own, and a new manifest of the same run names them. The replace of
`current.json` is the commit (I7): before it readers see the old dataset whole, after it the new one. Cursors do not move.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rivet_core.api import SourceSession
from rivet_core.errors import IntegrityError, RivetError
from rivet_core.facts import ExportSpec, Json, UnitKind
from rivet_core.running.comparison import Reconciliation
from rivet_core.running.drift import schema_fingerprint
from rivet_core.running.filerows import ADDED
from rivet_core.running.layout import layout_of
from rivet_core.running.manifest import Current, Manifest, ManifestPart, Member
from rivet_core.running.pressure import SourceGate
from rivet_core.running.publish import Dataset
from rivet_core.running.reading import UnitReader
from rivet_core.running.retry import Budget, Retrier
from rivet_core.running.slices import Slice
from rivet_core.running.stop import Stop
from rivet_core.running.task import ExportTask, fingerprint_of
from rivet_core.state import source_fingerprint
from rivet_core.stores import join

_LEFT = re.compile(r"-r\d+\.(?:parquet|csv|json)\Z|(?:^|/)\.[^/]+\.tmp\Z")
"""What repairs write, and temporary files: whoever wrote those has ended, or has lost its lease."""
AGAIN = "run the export again: that makes a new dataset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What a repair did: units exported again, rows and bytes of their new parts."""

    units: int
    rows: int
    bytes: int

    def as_dict(self) -> dict[str, Json]:
        """Return the entry of `rivet repair --json`."""
        return {"units": self.units, "rows": self.rows, "bytes": self.bytes}


def check_repairable(spec: ExportSpec, report: Reconciliation) -> None:
    """Raise `RivetError` when the bad units cannot be exported again one by one and still make one dataset."""
    for unit in report.bad:
        if unit.slice.whole or spec.snapshot == "consistent":
            raise RivetError(
                f"{spec.name}: its units were read in one snapshot, which a unit read now is not part of",
                hint=AGAIN,
                code="repair_snapshot",
            )
        if unit.slice.manifest.fingerprint != fingerprint_of(spec):
            raise RivetError(
                f"{spec.name}: its config was changed after run {unit.slice.manifest.run_id}", hint=AGAIN, code="repair_config"
            )


def repair(
    spec: ExportSpec,
    dataset: Dataset,
    session: SourceSession,
    report: Reconciliation,
    stop: Stop,
    *,
    mine: Callable[[], None],
    gate: SourceGate | None = None,
) -> Repaired:
    """Export the bad units of a report again and commit them together.

    The caller holds the export's lease; `mine` raises when it has lost it. Raises `BusyError` when another was faster all the
    same, `IntegrityError` when the columns changed.
    """
    check_repairable(spec, report)
    current, tag = dataset.read()
    if current is None or current.run_id != report.run_id:
        raise RivetError(f"{spec.name}: its dataset changed meanwhile", hint="reconcile it again", code="dataset_changed")
    made: dict[Member, Manifest] = {}
    new: list[ManifestPart] = []
    for member in dict.fromkeys(unit.slice.member for unit in report.bad):
        slices = [unit.slice for unit in report.bad if unit.slice.member == member]
        manifest, parts = _export_again(spec, dataset, session, slices, stop, gate, mine)
        made[member] = manifest
        new += parts
    stop.check()
    mine()
    dataset.amend(current, tag, {member: (manifest_key(dataset, m), m) for member, m in made.items()})
    with contextlib.suppress(RivetError):  # It is committed; what stays is found by `gc`.
        _sweep(dataset, made)
    return Repaired(units=len(report.bad), rows=sum(part.rows for part in new), bytes=sum(part.bytes for part in new))


def manifest_key(dataset: Dataset, manifest: Manifest) -> str:
    """Return the key of a run's manifest as its last repair wrote it."""
    folder = dataset.layout.run(manifest.run_id, datetime.fromisoformat(manifest.started_at))
    return join(folder, f"manifest-r{manifest.repairs}.json")


def repair_leavings(dataset: Dataset, current: Current) -> set[str]:
    """Return the keys that were left in the runs of the dataset: parts that repairs replaced, and what was broken off."""
    found: set[str] = set()
    for member in current.members:
        manifest = dataset.manifest(member)
        folder = dataset.layout.run(manifest.run_id, datetime.fromisoformat(manifest.started_at))
        needed = {member.key, *(part.key for part in manifest.parts)}
        found |= set(manifest.superseded) - needed
        found |= {entry.key for entry in dataset.store.files(folder) if _LEFT.search(entry.key)} - needed
    return found


def _export_again(
    spec: ExportSpec,
    dataset: Dataset,
    session: SourceSession,
    slices: Sequence[Slice],
    stop: Stop,
    gate: SourceGate | None,
    mine: Callable[[], None],
) -> tuple[Manifest, list[ManifestPart]]:
    """Read the units into new parts, and return the run's manifest with these in place of the old ones."""
    old, member = slices[0].manifest, slices[0].member
    number = old.repairs + 1
    started = datetime.fromisoformat(old.started_at)

    def name(unit: int, partition: str, part: int) -> str:
        stem, dot, suffix = dataset.layout.part(old.run_id, started, unit, part, partition).rpartition(".")
        return f"{stem}-r{number}{dot}{suffix}"

    task = _task(spec, dataset, old, slices)
    reader = UnitReader(
        task,
        session,
        dataset.store,
        name=name,
        before=old.schema,
        shares=True,
        stop=stop,
        told=lambda rows, size: None,
        gate=gate,
        publishing=mine,
    )
    retrier = Retrier(spec.tuning, Budget(len(slices), 1), stopped=stop.event)
    replaced = {part.key for item in slices for part in item.parts}
    kept = [part for part in old.parts if part.key not in replaced]
    new: list[ManifestPart] = []
    for item in slices:
        record = retrier.run(lambda item=item: reader.read(item.unit))  # type: ignore[misc]
        if schema_fingerprint(record.schema) != old.schema_fingerprint:
            raise IntegrityError(
                f"{spec.name}: the columns are not those of the run any more", hint=AGAIN, code="schema_changed"
            )
        unit = next(unit for unit in old.units if unit.index == item.unit.index)
        marks = (old.cursor_after or ()) if unit.kind is UnitKind.CURSOR else ()
        new += [ManifestPart.of(part, unit, marks, old.schema_fingerprint) for part in record.parts]
    if not kept and not new and not spec.skip_empty:
        unit = slices[0].unit
        new = [ManifestPart.of(part, unit, (), old.schema_fingerprint) for part in reader.empty(unit).parts]
    manifest = replace(
        old,
        parts=tuple(sorted([*kept, *new], key=lambda part: part.unit)),
        repairs=number,
        superseded=(*old.superseded, *sorted(replaced), member.key),
    )
    return manifest, new


def _task(spec: ExportSpec, dataset: Dataset, manifest: Manifest, slices: Sequence[Slice]) -> ExportTask:
    """Return the task of reading the same columns once more; other columns than the run's are refused."""
    names = tuple(str(field["name"]) for field in manifest.schema if isinstance(field, dict))
    wanted = tuple(name for name in names if name not in ADDED)
    again = replace(spec, columns=wanted, parallel=1, on_schema_drift="fail", quality={})
    options, _ = layout_of(spec)
    return ExportTask(
        name=spec.name,
        source=spec.source,
        group="",
        spec=again,
        units=tuple(item.unit for item in slices),
        cursor_snapshot=(),
        plan_id=manifest.plan_id,
        fingerprint=manifest.fingerprint,
        history_fingerprint=source_fingerprint(spec),
        layout=dataset.layout,
        options=options,
    )


def _sweep(dataset: Dataset, made: dict[Member, Manifest]) -> None:
    """Remove parts that an earlier try of the same repair left; what the repair replaced stays for readers, until `gc`."""
    for manifest in made.values():
        folder = dataset.layout.run(manifest.run_id, datetime.fromisoformat(manifest.started_at))
        mine = re.compile(rf"-r{manifest.repairs}\.\w+\Z")
        needed = {part.key for part in manifest.parts} | {manifest_key(dataset, manifest)}
        stray = {entry.key for entry in dataset.store.files(folder) if mine.search(entry.key)} - needed
        dataset.store.delete(sorted(stray))
