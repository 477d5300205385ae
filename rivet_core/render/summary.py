"""How a campaign ended, as a table: one line per export, then the totals."""

from __future__ import annotations

from rivet_core.facts.plural import several
from rivet_core.render.columns import align, clip
from rivet_core.render.quantities import count, seconds, size
from rivet_core.running.outcome import ALREADY_DONE, DONE, FAILED, NOT_STARTED, SKIPPED, CampaignOutcome, ExportOutcome

WORDS = {DONE: "done", FAILED: "failed", SKIPPED: "skipped", NOT_STARTED: "not started", ALREADY_DONE: "done before"}


def summary_text(outcome: CampaignOutcome, *, width: int = 120) -> str:
    """Return the summary of a campaign for people."""
    rows: list[tuple[str, ...]] = [("export", "status", "rows", "size", "files", "took", "predicted", "")]
    rows += [_row(export) for export in outcome.exports]
    lines = [clip(line, width) for line in align(rows, right=frozenset({2, 3, 4, 5, 6}))]
    lines += ["", *(f"shared cause: {cause}" for cause in outcome.shared_causes), *outcome.pauses]
    parts = [f"{outcome.count(status)} {word}" for status, word in WORDS.items() if outcome.count(status)]
    rows_written = sum(export.rows for export in outcome.exports)
    size_written = sum(export.bytes for export in outcome.exports)
    lines.append(
        f"{', '.join(parts) or 'nothing to do'}; {several(rows_written, 'row')}, {size(size_written)} "
        f"in {seconds(outcome.seconds)} ({outcome.policy}, {several(outcome.workers, 'worker')})"
    )
    graded = _grade(outcome)
    return "\n".join([*lines, graded] if graded else lines)


def _grade(outcome: CampaignOutcome) -> str:
    """Say what was predicted of the whole, and how far off the single exports were."""
    done = [export for export in outcome.exports if export.status == DONE and export.predicted_seconds and export.seconds > 0]
    if outcome.predicted_seconds is None or not done:
        return ""
    near = sum(1 / 1.25 <= export.seconds / (export.predicted_seconds or 1.0) <= 1.25 for export in done)
    text = f"predicted {seconds(outcome.predicted_seconds)}, took {seconds(outcome.seconds)}"
    return f"{text}; {near} of {several(len(done), 'export')} within 25 % of their prediction"


def _row(export: ExportOutcome) -> tuple[str, ...]:
    wrote = export.parts > 0 or export.rows > 0
    note = export.reason or (several(export.retries, "retry") if export.retries else "")
    if not note and export.status == DONE and not wrote:
        note = "nothing new"
    return (
        export.name,
        WORDS.get(export.status, export.status),
        count(export.rows) if export.status == DONE else "",
        size(export.bytes) if export.status == DONE else "",
        str(export.parts) if export.status == DONE else "",
        seconds(export.seconds) if export.status in (DONE, FAILED) else "",
        "" if export.predicted_seconds is None else seconds(export.predicted_seconds),
        note,
    )
