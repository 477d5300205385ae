"""What stands between a plan and its execution: too old, cursor moved, tiles broken, source or plugins changed.

Only what can make the output wrong refuses (exit 4); diagnostics never gate (PA8). The seal (PA10) was checked when the plan
was read.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rivet_core.artifact import Plan
from rivet_core.errors import PlanRefused, RivetError
from rivet_core.facts import Mark, Mode, TableFacts, Unit, UnitKind
from rivet_core.plugins import Registry
from rivet_core.running.rising import goes_up
from rivet_core.running.task import ExportTask, observed_keys
from rivet_core.state import StateStore

WARN_AGE = timedelta(hours=1)
BOUNDED = (UnitKind.RANGE, UnitKind.WINDOW)
Statement = tuple[str | None, str | None]
"""What an export reads: its table, or the text of its query."""

SOURCE_CHANGED = "source_changed"
AGAIN = "make a new one with rivet plan -o"


def check_age(plan: Plan, now: datetime, *, force: bool) -> list[str]:
    """PA3: warn about a plan of more than an hour, refuse an expired one (24 h) unless forced."""
    age = now - plan.as_of
    if now >= plan.expires_at:
        if not force:
            raise PlanRefused(
                f"the plan is {_hours(age)} old and expired at {_when(plan.expires_at)}",
                hint=f"{AGAIN}, or give --force",
                code="plan_stale",
            )
        return [f"the plan is {_hours(age)} old: --force went on"]
    return [f"the plan is {_hours(age)} old; sizes, load and cursors may have changed"] if age >= WARN_AGE else []


def check_config(plan: Plan) -> list[str]:
    """PA6: a changed config is worth a warning; the plan wins."""
    if not is_changed(plan):
        return []
    return [f"{Path(plan.config.path).name} was changed after the plan was made: the plan is run as it stands"]


def restated(tasks: Iterable[ExportTask], now: Mapping[str, Statement]) -> dict[str, RivetError]:
    """PA6: return, refused, the exports that read another table or query by now. What `now` does not name is as planned."""
    found: dict[str, RivetError] = {}
    for task in tasks:
        if now.get(task.name, (task.spec.table, task.spec.query)) != (task.spec.table, task.spec.query):
            was = f"the table {task.spec.table}" if task.spec.table else "another query"
            found[task.name] = PlanRefused(
                f"{task.name}: the config was changed after the plan was made, which reads {was}",
                hint=AGAIN,
                code="query_changed",
            )
    return found


def is_changed(plan: Plan) -> bool:
    """Whether the plan's config is there and has another text now."""
    try:
        digest = hashlib.sha256(Path(plan.config.path).read_bytes()).hexdigest()
    except OSError:
        return False
    return plan.config.sha256.removeprefix("sha256:") != digest


def check_plugins(plan: Plan, registry: Registry, tasks: Sequence[ExportTask], *, allow_drift: bool) -> list[str]:
    """Refuse another major or minor version of the plugins that read and write, unless allowed."""
    locked = {lock.dist: lock.version for lock in plan.plugins}
    drifted = []
    sources = {plan.sources[task.source].type for task in tasks if task.source in plan.sources}
    plugins = [registry.source(kind).plugin for kind in sorted(sources)]
    plugins += [registry.destination(kind).plugin for kind in sorted({task.spec.destination.type for task in tasks})]
    for plugin in plugins:
        was = locked.get(plugin.dist)
        if was is not None and _minor(was) != _minor(plugin.version):
            drifted.append(f"{plugin.dist} was {was} and is {plugin.version} now")
    found = sorted(set(drifted))
    if found and not allow_drift:
        raise PlanRefused(
            f"plugins changed after the plan was made: {'; '.join(found)}",
            hint=f"{AGAIN}, or give --allow-plugin-drift",
            code="plugin_drift",
        )
    return found


def check_cursors(tasks: Iterable[ExportTask], state: StateStore, *, force: bool) -> list[str]:
    """PA4: the cursor must be where the plan saw it. Exports that this plan has committed are not among `tasks` any more."""
    cursors = state.cursors()
    moved = [
        task for task in tasks if task.spec.mode is Mode.INCREMENTAL and cursors.get(task.name, ()) != task.cursor_snapshot
    ]
    if not moved:
        return []
    words = "; ".join(
        f"{task.name} was at {_at(task.cursor_snapshot)} and is at {_at(cursors.get(task.name, ()))}" for task in moved[:5]
    )
    text = f"{len(moved)} cursor{'s' if len(moved) > 1 else ''} moved after the plan was made: {words}"
    if not force:
        raise PlanRefused(text, hint=f"{AGAIN}, or give --force to read what the plan says", code="cursor_moved")
    return [f"{text}: --force went on"]


def check_tiles(task: ExportTask) -> None:
    """PA5: the units of an export are numbered from 0, and lie side by side without gap or overlap."""
    if [unit.index for unit in task.units] != list(range(len(task.units))) or not task.units:
        raise _untiled(task, "they are not numbered from 0")
    for relation in dict.fromkeys(unit.relation for unit in task.units):
        units = [unit for unit in task.units if unit.relation == relation]
        kinds = {unit.kind for unit in units}
        if sum(unit.kind is UnitKind.NULLS for unit in units) > 1:
            raise _untiled(task, "rows without a key belong to two of them")
        kinds.discard(UnitKind.NULLS)
        if len(kinds) > 1:
            raise _untiled(task, f"they mix {' and '.join(sorted(kinds))}")
        tiles = [unit for unit in units if unit.kind is not UnitKind.NULLS]
        if kinds & {UnitKind.WHOLE, UnitKind.CURSOR} and len(tiles) > 1:
            raise _untiled(task, "the same rows belong to two of them")
        _check_chain(task, tiles)


def _check_chain(task: ExportTask, tiles: Sequence[Unit]) -> None:
    for left, right in itertools.pairwise(tiles):
        if left.columns != right.columns or left.upper != right.lower or not left.upper:
            raise _untiled(
                task, f"unit {left.index} ends at {_at(left.upper)}, unit {right.index} begins at {_at(right.lower)}"
            )
        if left.upper_inclusive == right.lower_inclusive:
            both = "both" if left.upper_inclusive else "neither"
            raise _untiled(task, f"{both} of units {left.index} and {right.index} hold the rows at {_at(left.upper)}")
    for unit in tiles:
        if unit.kind in BOUNDED and unit.lower and unit.upper and goes_up(unit.lower, unit.upper) is False:
            raise _untiled(task, f"unit {unit.index} goes from {_at(unit.lower)} back to {_at(unit.upper)}")
    if tiles and tiles[0].kind is UnitKind.RANGE and (tiles[0].lower or tiles[-1].upper):
        raise _untiled(task, "rows below the first or above the last belong to none")


def check_source(task: ExportTask, columns: Sequence[tuple[str, str]]) -> None:
    """PA6: refuse when the table's columns are not those that were planned. `columns` are `(name, type)` as they are now."""
    planned = observed(task)
    if not planned or not columns or planned == list(columns):
        return
    before, now = dict(planned), dict(columns)
    changes = [f"{name} is new" for name in now if name not in before]
    changes += [f"{name} is gone" for name in before if name not in now]
    changes += [
        f"{name} was {kind} and is {now[name]} now" for name, kind in before.items() if name in now and now[name] != kind
    ]
    what = task.spec.table or "the query"
    raise PlanRefused(
        f"{task.name}: the columns of {what} changed after the plan was made: {'; '.join(changes) or 'their order'}",
        hint="make a new one with rivet plan --refresh -o",
        code=SOURCE_CHANGED,
    )


def check_keys(task: ExportTask, table: TableFacts) -> None:
    """PA6: refuse when the bounds of the units rest on what is no more: the order of texts, or that a column holds no NULL.

    In another order the units would overlap and leave gaps, and rows without a key would belong to none of them.
    """
    for name, nullable, collation in observed_keys(task):
        column = table.column(name)
        if column is None:
            continue
        changed = []
        if column.collation != collation:
            changed.append(f"its collation was {collation or 'none'} and is {column.collation or 'none'} now")
        if column.nullable and not nullable:
            changed.append("it was NOT NULL and is no more")
        if changed:
            raise PlanRefused(
                f"{task.name}: {name}, by which it is cut, changed after the plan was made: {'; '.join(changed)}",
                hint="make a new one with rivet plan --refresh -o",
                code=SOURCE_CHANGED,
            )


def observed(task: ExportTask) -> list[tuple[str, str]]:
    """Return the columns `(name, type)` that the plan saw, empty when it saw none."""
    found: Any = task.planned.get("observed_columns")
    return [(str(name), str(kind)) for name, kind in found] if isinstance(found, list | tuple) else []


def _untiled(task: ExportTask, why: str) -> PlanRefused:
    return PlanRefused(f"{task.name}: its units do not tile the table: {why}", hint=AGAIN, code="plan_tiles")


def _at(marks: Sequence[Mark]) -> str:
    return ", ".join(f"{mark.column} {mark.value}" for mark in marks) or "nothing"


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def _hours(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"


def _when(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")
