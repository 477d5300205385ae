"""One export's entry in the plan: everything judged, predicted and resolved, in the plan's own shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rivet_core.artifact.model import (
    CursorPlan,
    Diagnostics,
    Estimated,
    ExportPlan,
    PlanError,
    PlanEvidence,
    PlanMark,
    PlanReason,
    PlanUnit,
    PredictedSeconds,
    Scores,
    Suggestion,
    Suppressed,
)
from rivet_core.artifact.spec import spec_to_json
from rivet_core.facts import Evidence, ExportSpec, Fidelity, Json, Mark, Mode, Reason, TableFacts, Tier, Unit, UnitKind
from rivet_core.facts.memory import peak_memory
from rivet_core.planning.judged import Judged
from rivet_core.planning.survey import Subject
from rivet_core.scheduling.deadlines import DEFAULT_WINDOW, WINDOW_KEY
from rivet_core.scheduling.predict import Prediction

WORDS = {Mode.FULL: "full", Mode.INCREMENTAL: "incremental", Mode.CHUNKED: "chunked", Mode.TIME_WINDOW: "time window"}


Shown: TypeAlias = dict[int, PlanEvidence]
"""Evidence already put into the plan's shape, by identity: reasons cite the same, and so do exports that are alike."""


def planned_entry(
    item: Judged,
    shown: Shown,
    *,
    wave: int | None,
    isolated: bool,
    split_in: int | None = None,
    secrets: Mapping[str, Json] | None = None,
) -> ExportPlan:
    """Return the plan's entry of a judged export, whose units are `split_in` entries of the schedule.

    `shown` is one for all entries of a plan; what it knows must live as long. `secrets` replaces destination options that
    must not be stored.
    """
    facts, judgement = item.facts, item.judgement
    spec = facts.spec
    return ExportPlan.trusted(
        name=spec.name,
        source=spec.source,
        source_group=facts.group,
        status="planned",
        error=None,
        spec=_spec(spec, facts.table, secrets, units=facts.units, window=facts.window_seconds),
        strategy=strategy(spec, facts.units),
        priority_score=judgement.priority / 10,
        priority_class=judgement.priority_class.name,
        cost_class=judgement.cost_class.name,
        risk_class=judgement.risk_class.name,
        recommended_wave=wave,
        wave=spec.wave,
        tier=item.tier.value,
        isolate_on_source=isolated,
        parallel_safe=judgement.parallel_safe and not isolated,
        heavy=judgement.heavy,
        scores=Scores.trusted(**judgement.scores.as_dict()),
        confidence=Scores.trusted(**judgement.confidence.as_dict()),
        predicted_seconds=_predicted(item.prediction),
        estimated=Estimated.trusted(
            rows=judgement.estimated_rows,
            bytes=judgement.estimated_bytes,
            delta_rows=judgement.delta_rows,
            basis=judgement.basis,
            peak_memory_bytes=peak_memory(spec, row_bytes=_row_bytes(item), connections=split_in or item.connections),
        ),
        cursor=_cursor(item, shown),
        reasons=tuple([plan_reason(reason, shown) for reason in judgement.reasons]),
        suggestion=_suggestion(item),
        diagnostics=Diagnostics.trusted(
            verdict=judgement.diagnostics.verdict,
            warnings=(*judgement.diagnostics.warnings, *_snapshot_warnings(spec), *_fidelity_warnings(spec, facts.table)),
        ),
        units=tuple(_unit(unit) for unit in facts.units),
        cursor_snapshot=tuple(_mark(mark) for mark in facts.committed),
        split_in=split_in,
    )


def _row_bytes(item: Judged) -> int:
    """Return how wide a row is on average; statistics and sizes may know only what is left of it after compression."""
    rows, size = item.judgement.estimated_rows, item.judgement.estimated_bytes
    return max(round(item.facts.table.avg_width or 0), (size or 0) // rows if rows else 0)


def unplannable_entry(subject: Subject, *, secrets: Mapping[str, Json] | None = None) -> ExportPlan:
    """Return the marked row of an export that cannot be planned, with why and what would help."""
    spec = subject.spec
    error = subject.error
    return ExportPlan.trusted(
        name=spec.name,
        source=spec.source,
        source_group=subject.group,
        status="unplannable",
        error=None if error is None else PlanError.trusted(code=error.code, message=error.message, hint=error.hint),
        spec=_spec(spec, None, secrets),
        strategy=WORDS[spec.mode],
        priority_score=None,
        priority_class=None,
        cost_class=None,
        risk_class=None,
        recommended_wave=None,
        wave=spec.wave,
        tier=(spec.value.tier or Tier.NORMAL).value,
        isolate_on_source=False,
        parallel_safe=False,
        heavy=True,
        scores=None,
        confidence=None,
        predicted_seconds=None,
        estimated=None,
        cursor=None,
        reasons=(),
        suggestion=None,
        diagnostics=Diagnostics.trusted(verdict="unplannable", warnings=()),
        units=(),
        cursor_snapshot=(),
        split_in=None,
    )


def strategy(spec: ExportSpec, units: tuple[Unit, ...]) -> str:
    """Return in words how the export is read: mode, columns it reads by, number of units."""
    columns = next((unit.columns for unit in units if unit.columns), ())
    by = f" by {', '.join(columns)}" if columns else ""
    count = f" in {len(units)} units" if len(units) > 1 else ""
    return f"{WORDS[spec.mode]}{by}{count}"


def plan_reason(reason: Reason, shown: Shown) -> PlanReason:
    """Return a reason in the plan's shape."""
    return PlanReason.trusted(**_reason(reason, shown))


def _reason(reason: Reason, shown: Shown) -> dict[str, Any]:
    muted = reason.suppressed
    return {
        "code": reason.code,
        "kind": reason.kind.value,
        "dimension": None if reason.dimension is None else reason.dimension.value,
        "family": reason.family,
        "points": reason.points,
        "provider": reason.provider,
        "rule_version": reason.rule_version,
        "message": reason.message,
        "evidence": tuple([_evidence(evidence, shown) for evidence in reason.evidence]) if reason.evidence else (),
        "caveat": reason.caveat,
        "remedy": reason.remedy,
        "potential": reason.potential,
        "suppressed": None if muted is None else Suppressed.trusted(reason=muted[0], until=muted[1]),
    }


def campaign_reason(reason: Reason) -> dict[str, Any]:
    """Return the keyword arguments of a `CampaignReason`."""
    return {**_reason(reason, {}), "group": reason.group, "exports": reason.exports}


def _spec(
    spec: ExportSpec,
    table: TableFacts | None,
    secrets: Mapping[str, Json] | None,
    *,
    units: Sequence[Unit] = (),
    window: float = DEFAULT_WINDOW,
) -> dict[str, Json]:
    # What nobody set is no news a hundred thousand times; reading it back gives the same spec.
    data: dict[str, Json] = {key: value for key, value in spec_to_json(spec).items() if value is not None}
    if secrets is not None:
        data["destination"] = {"type": spec.destination.type, "options": dict(secrets)}
    # What the gates of apply compare with the source (PA6), beside the keys that the config resolved.
    columns = () if table is None else table.columns
    data["observed_columns"] = [[column.name, column.source_type] for column in columns]
    if table is not None and (keys := _observed_keys(table, units)):
        data["observed_keys"] = keys
    if spec.value.deadline and window != DEFAULT_WINDOW:
        data[WINDOW_KEY] = window
    return data


def _observed_keys(table: TableFacts, units: Sequence[Unit]) -> list[Json]:
    """Return name, whether NULL is in it, and collation of the columns that units follow: what their bounds rest on."""
    bounded = [unit.columns for unit in units if unit.kind in (UnitKind.RANGE, UnitKind.CURSOR)]
    names = dict.fromkeys(name for columns in bounded for name in columns)
    found = [column for name in names if (column := table.column(name)) is not None]
    return [[column.name, column.nullable, column.collation] for column in found]


def _evidence(evidence: Evidence, shown: Shown) -> PlanEvidence:
    found = shown.get(id(evidence))
    if found is None:
        moment = evidence.observed_at
        found = shown[id(evidence)] = PlanEvidence.trusted(
            signal=evidence.signal,
            value=evidence.value,
            unit=evidence.unit,
            source=evidence.source,
            # Ages are counted in whole seconds.
            observed_at=moment if moment is None or not moment.microsecond else moment.replace(microsecond=0),
            quality=evidence.quality,
        )
    return found


def _predicted(prediction: Prediction) -> PredictedSeconds:
    return PredictedSeconds.trusted(
        p10=round(prediction.p10, 3),
        p50=round(prediction.p50, 3),
        p90=round(prediction.p90, 3),
        basis=prediction.basis,
    )


def _cursor(item: Judged, shown: Shown) -> CursorPlan | None:
    verdict = item.facts.cursor
    if verdict is None:
        return None
    return CursorPlan.trusted(
        quality=str(verdict.quality),
        columns=tuple(verdict.columns),
        evidence=tuple([_evidence(evidence, shown) for evidence in verdict.evidence]),
        why=verdict.why,
    )


def _suggestion(item: Judged) -> Suggestion | None:
    found = item.judgement.suggestion
    if not found.better:
        return None
    return Suggestion.trusted(
        mode=found.mode, cursor=found.cursor, chunk_by=found.chunk_by, profile=found.profile, why=found.why
    )


def _snapshot_warnings(spec: ExportSpec) -> tuple[str, ...]:
    if spec.snapshot != "consistent":
        return ()
    cost = (
        "takes one more connection that stays idle in transaction"
        if spec.parallel > 1
        else "keeps its connection in one transaction"
    )
    return (
        "All units are read under one snapshot: it holds back cleanup and lets schema changes wait while the export runs, "
        f"{cost}, and a resume starts from the first unit.",
    )


def _fidelity_warnings(spec: ExportSpec, table: TableFacts) -> tuple[str, ...]:
    wanted = set(spec.columns)
    return tuple(
        f"column {column.name} ({column.source_type}): {column.fidelity_note or 'its values may lose precision'}"
        for column in table.columns
        if column.fidelity in (Fidelity.LOSSY, Fidelity.REFUSED) and (not wanted or column.name in wanted)
    )


def _unit(unit: Unit) -> PlanUnit:
    return PlanUnit.trusted(
        index=unit.index,
        kind=str(unit.kind),
        columns=unit.columns,
        lower=tuple([_mark(mark) for mark in unit.lower]),
        upper=tuple([_mark(mark) for mark in unit.upper]),
        lower_inclusive=unit.lower_inclusive,
        upper_inclusive=unit.upper_inclusive,
        relation=unit.relation,
        rows=unit.rows,
    )


def _mark(mark: Mark) -> PlanMark:
    return PlanMark.trusted(column=mark.column, type=mark.type, value=mark.value)
