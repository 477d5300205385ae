"""One export as apply runs it: what the plan says about it, ready to be read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rivet_core.artifact import ExportPlan, Plan
from rivet_core.artifact.spec import spec_from_json, spec_to_json
from rivet_core.errors import PlanRefused
from rivet_core.facts import ExportSpec, Json, Mark, ReadSpec, Unit
from rivet_core.running.layout import Layout, layout_of
from rivet_core.scheduling.deadlines import is_near_in_plan
from rivet_core.state import source_fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTask:
    """One export of a plan. `options` are the destination's, tokens taken out; `fingerprint` covers spec and units."""

    name: str
    source: str
    group: str
    spec: ExportSpec
    units: tuple[Unit, ...]
    cursor_snapshot: tuple[Mark, ...]
    plan_id: str
    fingerprint: str
    history_fingerprint: str
    layout: Layout
    options: Mapping[str, Json]
    planned: Mapping[str, Any] = field(default_factory=dict)
    """What the plan adds to the spec for its gates."""
    heavy: bool = False
    parallel_safe: bool = True
    tier: str = "normal"
    wave: int | None = None
    recommended_wave: int | None = None
    split_in: int | None = None
    """How many jobs its units are, `None` for one."""
    position: int = 0
    rank: int = 0
    p10: float | None = None
    predicted_seconds: float | None = None
    p90: float | None = None
    basis: str = "unknown"
    table_bytes: int | None = None
    deadline_near: bool = False
    place: str = ""
    """Which database it reads, known when the source is open."""

    @property
    def reading(self) -> ReadSpec:
        """What the source is asked for."""
        return ReadSpec.of(self.spec)

    @property
    def resume_key(self) -> str:
        """What must be equal for a run to be resumed: the spec, the database behind the source, and the order of text keys."""
        orders = [f"\0{name}\0{collation}" for name, _, collation in observed_keys(self) if collation]
        place = "".join([self.place, *orders])
        return f"{self.fingerprint}@{hashlib.sha256(place.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"

    @property
    def resumes_by_unit(self) -> bool:
        """Whether published units survive: a `consistent` snapshot died with its session."""
        return self.spec.snapshot != "consistent"


def observed_keys(task: ExportTask) -> list[tuple[str, bool, str]]:
    """Return the columns that the plan's units follow: name, whether NULL was in it, and its collation."""
    found: Any = task.planned.get("observed_keys")
    return [(str(name), bool(nullable), str(collation)) for name, nullable, collation in found or ()]


def task_of(plan_id: str, export: ExportPlan, *, position: int, rank: int, as_of: datetime | None = None) -> ExportTask:
    """Return the task of one planned export; `as_of` is the plan's time, which deadlines count from.

    Raises `PlanRefused` when the spec is not one that planning writes.
    """
    try:
        spec = spec_from_json(export.spec)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        kind = type(error).__name__
        raise PlanRefused(f"{export.name}: its spec is not one of this version ({kind})", code="plan_shape") from None
    units = tuple(Unit.from_json(unit.model_dump(mode="json")) for unit in export.units)
    options, layout = layout_of(spec)
    predicted = export.predicted_seconds
    known = spec_to_json(spec)
    return ExportTask(
        name=export.name,
        source=export.source,
        group=export.source_group,
        spec=spec,
        units=units,
        cursor_snapshot=tuple(Mark(column=mark.column, type=mark.type, value=mark.value) for mark in export.cursor_snapshot),
        plan_id=plan_id,
        fingerprint=fingerprint_of(spec),
        history_fingerprint=source_fingerprint(spec),
        layout=layout,
        options=options,
        planned={key: value for key, value in export.spec.items() if key not in known},
        heavy=export.heavy,
        parallel_safe=export.parallel_safe,
        tier=export.tier,
        wave=export.wave,
        recommended_wave=export.recommended_wave,
        split_in=export.split_in,
        position=position,
        rank=rank,
        p10=predicted.p10 if predicted else None,
        predicted_seconds=predicted.p50 if predicted else None,
        p90=predicted.p90 if predicted else None,
        basis=predicted.basis if predicted else "unknown",
        deadline_near=as_of is not None and is_near_in_plan(export.spec, as_of),
        table_bytes=export.estimated.bytes if export.estimated else None,
    )


def tasks_from_plan(plan: Plan) -> tuple[ExportTask, ...]:
    """Return the tasks of all planned exports, in the plan's order; unplannable ones have none."""
    ranks = {name: rank for rank, name in enumerate(plan.campaign.ordered_exports)}
    return tuple(
        task_of(plan.plan_id, export, position=position, rank=ranks.get(export.name, len(ranks)), as_of=plan.as_of)
        for position, export in enumerate(plan.exports)
        if export.status == "planned"
    )


_BESIDE_THE_DATA = (
    "value",
    "tuning",
    "wave",
    "heavy",
    "parallel_safe",
    "parallel",
    "depends_on",
    "keep_runs",
    "reconcile_required",
    "source_group",
)


def fingerprint_of(spec: ExportSpec) -> str:
    """Return what must be equal for a run to be resumed: everything in the spec that decides what the files hold."""
    known = {key: value for key, value in spec_to_json(spec).items() if key not in _BESIDE_THE_DATA}
    return hashlib.sha256(json.dumps(known, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[
        :32
    ]
