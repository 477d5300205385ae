"""Whether a run may add to the dataset that lies at its destination: only to the one that its cursor or window belongs to.

A cursor belongs to an export's name. When the destination, the table or the mode changed under that name, adding "what is new"
would leave out everything before it without a word; such a run is refused before a row is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from rivet_core.errors import PlanRefused
from rivet_core.facts import ExportSpec, Mark, Mode
from rivet_core.running.manifest import Current
from rivet_core.running.task import ExportTask


def subject_of(spec: ExportSpec) -> str:
    """Return what identifies the rows of an export: source, table or query. Columns may come and go; that is drift."""
    parts = [spec.source, spec.table, spec.query]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def check_continuity(task: ExportTask, current: Current | None, cursor: Sequence[Mark], where: str) -> None:
    """Raise `PlanRefused` when a run that adds would not continue `current`. `where` is the place of `current.json`."""
    if task.spec.mode is Mode.INCREMENTAL and cursor:
        _check_chain(task, current, tuple(cursor), where)
    elif task.spec.mode is Mode.TIME_WINDOW and current is not None:
        if current.mode != Mode.TIME_WINDOW:
            raise PlanRefused(
                f"{task.name}: its dataset was written in mode {current.mode}; a time window would drop the rows outside of it",
                hint=f"give it another path, or move what belongs to {where} away",
                code="dataset_mode",
            )
        _check_subject(task, current, f"give it another path, or move what belongs to {where} away")


def _check_chain(task: ExportTask, current: Current | None, cursor: tuple[Mark, ...], where: str) -> None:
    again = f"rivet state reset -e {task.name} reads everything again; rivet state rebuild takes the cursor from the dataset"
    if current is None:
        raise PlanRefused(
            f"{task.name}: its cursor is at {_at(cursor)}, but there is no dataset at {where}: only newer rows would be in it",
            hint=f"point the destination back, or {again}",
            code="dataset_missing",
        )
    if current.cursor_after != cursor:
        raise PlanRefused(
            f"{task.name}: its cursor is at {_at(cursor)}, but its dataset ends at {_at(current.cursor_after or ())}",
            hint=f"is another config writing there, or was the state exchanged? {again}",
            code="dataset_other",
        )
    _check_subject(task, current, f"give the export another name, or: {again}")


def _check_subject(task: ExportTask, current: Current, hint: str) -> None:
    # Datasets written before the subject was kept have none, and are taken as they are.
    if current.subject and current.subject != subject_of(task.spec):
        raise PlanRefused(
            f"{task.name}: it reads another table or query than its dataset holds rows of", hint=hint, code="dataset_subject"
        )


def _at(marks: Sequence[Mark]) -> str:
    return ", ".join(f"{mark.column} {mark.value}" for mark in marks) or "no cursor"
