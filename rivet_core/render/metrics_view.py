"""Graded runs and the journal, for people and machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rivet_core.facts import Json
from rivet_core.facts.plural import several
from rivet_core.render.columns import align, clip
from rivet_core.render.quantities import count, seconds, size, span
from rivet_core.scheduling.grading import Grade, grade
from rivet_core.scheduling.predict import Prediction
from rivet_core.state import Event, Metric


def grades(metrics: Sequence[Metric]) -> dict[str, Grade]:
    """Return how good the predictions of each export were, over its successful runs; failed ones say nothing of it."""
    by_export: dict[str, list[tuple[Prediction, float]]] = {}
    for metric in metrics:
        pair = _pair(metric)
        if pair is not None:
            by_export.setdefault(metric.export, []).append(pair)
    return {name: grade(pairs) for name, pairs in sorted(by_export.items())}


def overall(metrics: Sequence[Metric]) -> Grade:
    """Return the same over all exports."""
    return grade(pair for metric in metrics if (pair := _pair(metric)) is not None)


def metric_as_dict(metric: Metric) -> dict[str, Json]:
    """Return one run of `rivet metrics --json`."""
    return {
        "run_id": metric.run_id,
        "export": metric.export,
        "at": metric.at.isoformat(),
        "status": metric.status,
        "seconds": metric.seconds,
        "rows": metric.rows,
        "bytes": metric.bytes,
        "predicted": None
        if metric.predicted_p50 is None
        else {"p10": metric.predicted_p10, "p50": metric.predicted_p50, "p90": metric.predicted_p90, "basis": metric.basis},
    }


def grade_as_dict(found: Grade) -> dict[str, Json]:
    """Return a grade; shares from 0 to 1, bias as a share of the prediction."""
    return {
        "runs": found.count,
        "bias": found.bias,
        "total_bias": found.total_bias,
        "p90_coverage": found.p90_coverage,
        "p10_coverage": found.p10_coverage,
        "within_factor_3": found.within_factor_3,
    }


def metrics_text(metrics: Sequence[Metric], *, width: int) -> str:
    """Return the table of `rivet metrics`: runs, newest first, then how far predictions can be trusted."""
    rows: list[tuple[str, ...]] = [("export", "ended", "status", "rows", "size", "took", "predicted", "off by", "basis")]
    rows += [_row(metric) for metric in metrics]
    lines = [clip(line, width) for line in align(rows, right=frozenset({3, 4, 5, 6, 7}))]
    found = overall(metrics)
    if found.bias is not None and found.p90_coverage is not None and found.within_factor_3 is not None:
        lines += [
            "",
            f"{found.count} graded runs: {found.bias:+.0%} against predictions, {found.p90_coverage:.0%} within p90, "
            f"{found.within_factor_3:.0%} within a factor of 3",
        ]
    return "\n".join(lines)


def event_as_dict(event: Event) -> dict[str, Json]:
    """Return one entry of `rivet journal --json`."""
    return {
        "at": event.at.isoformat(),
        "event": event.kind,
        "plan_id": event.plan_id,
        "export": event.export,
        "data": dict(event.data),
    }


def journal_text(events: Sequence[Event], *, width: int) -> str:
    """Return the table of `rivet journal`, oldest first."""
    rows: list[tuple[str, ...]] = [("at", "event", "export", "plan", "")]
    rows += [
        (
            f"{event.at:%Y-%m-%d %H:%M:%S}",
            event.kind.replace("_", " "),
            event.export,
            event.plan_id,
            _gist(event.kind, event.data),
        )
        for event in events
    ]
    return "\n".join(clip(line, width) for line in align(rows))


def _pair(metric: Metric) -> tuple[Prediction, float] | None:
    p10, p50, p90 = metric.predicted_p10, metric.predicted_p50, metric.predicted_p90
    if metric.status != "succeeded" or p50 is None:
        return None
    low, high = p50 if p10 is None else p10, p50 if p90 is None else p90
    return Prediction(p10=low, p50=p50, p90=high, basis=metric.basis, level=""), metric.seconds


def _row(metric: Metric) -> tuple[str, ...]:
    p10, p50, p90 = metric.predicted_p10, metric.predicted_p50, metric.predicted_p90
    predicted = "" if p10 is None or p90 is None else span(p10, p90)
    graded = metric.status == "succeeded" and p50 is not None and p50 > 0
    return (
        metric.export,
        f"{metric.at:%Y-%m-%d %H:%M:%S}",
        metric.status,
        count(metric.rows),
        size(metric.bytes),
        seconds(metric.seconds),
        predicted,
        f"x{metric.seconds / p50:.2f}" if graded and p50 else "",
        metric.basis,
    )


def _several(data: Mapping[str, Json], noun: str) -> str:
    number = data.get(f"{noun}s")
    return several(number if isinstance(number, int) else 0, noun)


def _gist(kind: str, data: Mapping[str, Json]) -> str:
    """Say the one thing that matters of an entry."""
    if kind == "campaign_started":
        return f"{_several(data, 'export')}, {data.get('policy', '')}, {_several(data, 'worker')}"
    if kind == "campaign_finished":
        counts = data.get("counts")
        parts = (
            [f"{number} {status.replace('_', ' ')}" for status, number in counts.items() if number]
            if isinstance(counts, Mapping)
            else []
        )
        return f"exit {data.get('exit_code', '')}: {', '.join(parts) or 'nothing to do'}"
    if kind == "export_finished":
        rows, took = data.get("rows"), data.get("seconds")
        if isinstance(rows, int) and isinstance(took, int | float):
            return f"{several(rows, 'row')} in {seconds(took)}"
    if kind == "reconciled":
        return str(data.get("result", ""))
    if kind == "repaired":
        return f"{_several(data, 'unit')}, {_several(data, 'row')}"
    error = data.get("error")
    if isinstance(error, Mapping):
        return " ".join(str(error.get("message", "")).split())
    return " ".join(str(data.get("message") or data.get("reason") or "").split())
