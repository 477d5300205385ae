"""What the manifests of a dataset say to a state database that has lost it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rivet_core.facts import ExportSpec, Mark
from rivet_core.running.manifest import Manifest
from rivet_core.running.publish import Dataset
from rivet_core.running.task import fingerprint_of
from rivet_core.state import PastRun, source_fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The committed runs of an export, oldest first, and the cursor that the newest of them left."""

    runs: tuple[PastRun, ...]
    cursor: tuple[Mark, ...]


def remember(dataset: Dataset, spec: ExportSpec) -> Remembered:
    """Read an export's manifests. Raises `IntegrityError` for one that is damaged or of a newer Rivet."""
    current, _ = dataset.read()
    if current is None:
        return Remembered(runs=(), cursor=())
    runs = [_past(dataset.manifest(member), spec) for member in current.members]
    runs.sort(key=lambda run: (run.started_at, run.run_id))
    return Remembered(runs=tuple(runs), cursor=current.cursor_after or ())


def _past(manifest: Manifest, spec: ExportSpec) -> PastRun:
    return PastRun(
        run_id=manifest.run_id,
        export=manifest.export,
        plan_id=manifest.plan_id,
        fingerprint=manifest.fingerprint,
        # A changed export must not inherit the times of the old one; an unchanged one has the fingerprint of now.
        source_fingerprint=source_fingerprint(spec) if manifest.fingerprint == fingerprint_of(spec) else "",
        mode=manifest.mode,
        started_at=datetime.fromisoformat(manifest.started_at),
        finished_at=datetime.fromisoformat(manifest.finished_at),
        rows=manifest.rows,
        bytes=manifest.bytes,
        cursor_before=manifest.cursor_before,
    )
