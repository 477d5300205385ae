"""Removing what no reader and no resume needs: files of broken-off runs, and full runs older than `keep_runs`.

Spared are the runs of the dataset as it is now, those that are running or could be resumed (M15), the newest complete ones up
to `keep_runs`, and whatever this state database does not know and is younger than a day: it may belong to somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rivet_core.errors import RivetError
from rivet_core.facts import ExportSpec, Json
from rivet_core.running.manifest import Current
from rivet_core.running.publish import Dataset
from rivet_core.running.repair import repair_leavings
from rivet_core.state import StateStore
from rivet_core.stores import Entry, Upload

FOREIGN_AGE = timedelta(days=1)
_RUN = re.compile(r"(?:^|/)run=(?P<id>(?P<at>\d{8}T\d{12})-[0-9a-f]{8})/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """What may go, and what was spared and why."""

    files: tuple[Entry, ...]
    spared: dict[str, str]
    uploads: tuple[Upload, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes of all files that may go."""
        return sum(entry.bytes for entry in self.files)


def find_garbage(
    dataset: Dataset, *, live: set[str], known: Callable[[str], bool], keep_runs: int, now: datetime | None = None
) -> Garbage:
    """Return what `remove` would delete of one export. `live` are run ids that must stay, `known` whether the state has one.

    Only files below the export's own directory and of a run of Rivet's are ever looked at (O08).
    """
    current, _ = dataset.read()
    members = {member.run_id for member in current.members} if current else set()
    runs: dict[str, list[Entry]] = {}
    began: dict[str, datetime] = {}
    for entry in dataset.store.files(dataset.layout.home):
        match = _RUN.search(entry.key)
        if match is not None:
            runs.setdefault(match["id"], []).append(entry)
            began[match["id"]] = datetime.strptime(match["at"], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
    moment = now or datetime.now(UTC)
    spared: dict[str, str] = {}
    kept = len(members)
    files: list[Entry] = []
    for run in sorted(runs, reverse=True):
        complete = any(entry.key.endswith("/_SUCCESS") for entry in runs[run])
        if run in members:
            spared[run] = "is part of the dataset"
        elif run in live:
            spared[run] = "is running or can be resumed"
        elif not known(run) and moment - began[run] < FOREIGN_AGE:
            spared[run] = "is not known here and younger than a day"
        elif complete and kept < keep_runs:
            kept += 1
            spared[run] = f"is one of the last {keep_runs} runs"
        else:
            files += runs[run]
    files += _left_by_repairs(dataset, current, runs)
    uploads = tuple(upload for upload in dataset.store.uploads(dataset.layout.home) if _broken_off(upload, live, moment))
    return Garbage(files=tuple(files), spared=spared, uploads=uploads)


def _left_by_repairs(dataset: Dataset, current: Current | None, runs: Mapping[str, list[Entry]]) -> list[Entry]:
    """Return what lies in the runs of the dataset and belongs to it no more: parts that a repair replaced."""
    gone = repair_leavings(dataset, current) if current is not None else set()
    members = {member.run_id for member in current.members} if current is not None else set()
    return [entry for run in sorted(members) for entry in runs.get(run, ()) if entry.key in gone]


def _broken_off(upload: Upload, live: set[str], moment: datetime) -> bool:
    """Whether an upload belongs to no run that may go on. A young one may be of a process that uses another state."""
    match = _RUN.search(upload.key)
    return match is not None and match["id"] not in live and moment - upload.began >= FOREIGN_AGE


def remove(dataset: Dataset, garbage: Garbage) -> None:
    """Delete what was found: the marks and manifests first, so that no half-deleted run looks complete."""
    marks = [entry.key for entry in garbage.files if entry.key.endswith(("/_SUCCESS", "/manifest.json"))]
    dataset.store.delete(marks)
    dataset.store.delete(entry.key for entry in garbage.files if entry.key not in set(marks))
    for upload in garbage.uploads:
        dataset.store.abort_upload(upload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What was found of one export, and deleted if asked; `error` is why it was skipped."""

    export: str
    paths: tuple[str, ...] = ()
    bytes: int = 0
    spared: Mapping[str, str] = field(default_factory=dict)
    error: RivetError | None = None

    def as_dict(self) -> dict[str, Json]:
        """Return the entry of `rivet gc --json`."""
        found: dict[str, Json] = {
            "export": self.export,
            "files": list(self.paths),
            "bytes": self.bytes,
            "spared": dict(self.spared),
        }
        if self.error is not None:
            found["error"] = {"code": self.error.code, "message": self.error.message, "hint": self.error.hint}
        return found


def collect(spec: ExportSpec, open_dataset: Callable[[], Dataset], state: StateStore, *, execute: bool) -> Collected:
    """Find an export's garbage and, with `execute`, delete it under the export's lease.

    An export that another run holds, or whose destination or manifests cannot be read, is skipped whole and says so: what is
    not understood is not deleted (M15).
    """
    lease = None
    try:
        if execute:
            lease = state.leases.acquire(f"export:{spec.name}")
        dataset = open_dataset()
        garbage = find_garbage(
            dataset,
            live=state.runs.live(),
            known=lambda run: state.runs.status(run) is not None,
            keep_runs=spec.keep_runs,
        )
        if execute:
            remove(dataset, garbage)
        keys = [*(entry.key for entry in garbage.files), *(upload.key for upload in garbage.uploads)]
        paths = tuple(dataset.store.url(key) for key in keys)
        return Collected(export=spec.name, paths=paths, bytes=garbage.bytes, spared=garbage.spared)
    except RivetError as error:
        return Collected(export=spec.name, error=error)
    finally:
        if lease is not None:
            state.leases.release(lease)
