"""Taking up what an earlier process left: a commit that the state missed, and units that are already published.

Order of effects: the files of a unit are published, then the unit is recorded (I5); `current.json` is replaced (I7), then the
state is told, cursor included (I3). A process can die between any two; what is found here decides what is still to be done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from rivet_core.errors import ConfigError, DestinationError
from rivet_core.facts import Mark, Mode, Unit, UnitKind
from rivet_core.running.manifest import Current
from rivet_core.running.publish import Dataset
from rivet_core.running.task import ExportTask
from rivet_core.state import Resumable, StateStore, UnitRecord
from rivet_core.stores import Store

WORTH_LOOKING_SECONDS = 60.0
"""From here on a run looks for its files at a remote store before the commit; in less nobody cleans up there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """What is taken up: the broken-off run, its fixed units, and those of them that need not be read again."""

    run_id: str
    started_at: datetime
    units: tuple[Unit, ...]
    done: dict[int, UnitRecord]
    broken: Resumable


def roll_forward(task: ExportTask, dataset: Dataset, current: Current | None, state: StateStore) -> bool:
    """Tell the state about a commit it missed: the process died between the replace of `current.json` and the state.

    Return whether there was one. The cursor of the dataset becomes the cursor of the state.
    """
    if current is None or state.runs.status(current.run_id) in (None, "succeeded"):
        return False
    manifest = dataset.manifest(current.members[-1])
    if manifest.run_id != current.run_id:
        return False
    found = state.runs.resumable(task.name)
    resumed = found is not None and found.run_id == current.run_id and len(found.ends) > 1
    started, finished = datetime.fromisoformat(manifest.started_at), datetime.fromisoformat(manifest.finished_at)
    state.runs.commit(
        current.run_id,
        task.name,
        rows=manifest.rows,
        size=manifest.bytes,
        seconds=None if resumed else (finished - started).total_seconds(),
        retries=0,
        columns=(),  # What the source called its types is not in the manifest; the run before keeps saying it.
        cursor=current.cursor_after,
        keep_cursor=manifest.mode == Mode.INCREMENTAL,
    )
    return True


def check_stream(task: ExportTask, store: Store, units: tuple[Unit, ...]) -> None:
    """Refuse before a row is read what could not go through a stream as one file. Raises `ConfigError`."""
    if not store.target.capabilities.stream:
        return
    nulls = any(unit.kind is UnitKind.NULLS for unit in units)
    why = (
        "is cut into partitions"
        if task.spec.partition_by
        else "has a max_file_size"
        if task.spec.max_file_size
        else "reads rows without a cursor by themselves"
        if nulls
        else "is read in several units"
    )
    if len(units) > 1 or task.spec.partition_by or task.spec.max_file_size:
        hint = "set null_cursor: skip" if nulls else "use mode full without them, or write to a directory"
        raise ConfigError(f"{task.name} {why}, and stdout takes one file", hint=hint, code="stdout_units")


def take_up(task: ExportTask, state: StateStore, store: Store, cursor: tuple[Mark, ...]) -> Continuation | None:
    """Return what `--resume` continues, `None` when the export starts from its first unit.

    The run must have the same fingerprint and start from the cursor of now; its own fixed units are used, also when they
    come from another plan (they are never sampled again for a run that started). A window moves with the day, so only
    the same plan's is taken up. Every published part is looked at before it is trusted.
    """
    found = state.runs.resumable(task.name)
    if found is None or not task.resumes_by_unit or not _same(task, found, cursor):
        return None
    done = {record.unit: record for record in found.done if intact(store, record)}
    started = found.started_at.astimezone(UTC)
    return Continuation(run_id=found.run_id, started_at=started, units=found.units, done=done, broken=found)


def _same(task: ExportTask, found: Resumable, cursor: tuple[Mark, ...]) -> bool:
    # A run that an older version began says nothing about the database.
    if found.fingerprint not in (task.resume_key, task.fingerprint) or not found.units:
        return False
    if task.spec.mode is Mode.INCREMENTAL and found.cursor_before != cursor:
        return False
    if task.spec.mode is Mode.TIME_WINDOW:
        return found.plan_id == task.plan_id
    return True


def intact(store: Store, record: UnitRecord) -> bool:
    """Whether all parts of a unit lie there as recorded: size always, checksum where reading is local."""
    for part in record.parts:
        if store.size(part.key) != part.bytes:
            return False
        if store.target.capabilities.local and store.checksum(part.key) != part.checksum:
            return False
    return True


def check_published(store: Store, home: str, records: Iterable[UnitRecord], seconds: float) -> None:
    """Refuse to commit what is not there any more: somebody cleaned up under the run, whose directory is `home`.

    Raises `DestinationError`. A remote store is asked with one listing, after a run of that many seconds at least.
    """
    capabilities = store.target.capabilities
    if capabilities.stream or (not capabilities.local and seconds < WORTH_LOOKING_SECONDS):
        return
    listed = {} if capabilities.local else {entry.key: entry.bytes for entry in store.files(home)}
    for part in (part for record in records for part in record.parts):
        if listed.get(part.key) != part.bytes and store.size(part.key) != part.bytes:
            raise DestinationError(
                f"{store.url(part.key)} was written by this run, and is gone or was changed",
                hint="find out who removes files there, then run with --resume",
                code="part_gone",
                error_class="missing",
            )
