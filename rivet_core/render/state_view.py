"""The state for people and machines: cursors, boundaries, runs, leases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rivet_core.facts import Json, Mark, RunFact
from rivet_core.render.columns import align, clip
from rivet_core.render.quantities import count, seconds, size
from rivet_core.state import Event, Progress, StateStore

RECENT = 20
"""Runs looked through for the last commit."""
WELL = ("match", "partial", "changed")
"""Results of a reconcile after which nothing is to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportState:
    """What the state knows of one export. `holder` says who works on it now, empty when nobody does."""

    export: str
    cursor: tuple[Mark, ...]
    progress: Progress
    runs: tuple[RunFact, ...]
    holder: str = ""
    reconciled: Event | None = None
    """The newest reconcile."""
    due: bool = False
    """Whether a required reconcile has not come out well since the last commit."""

    def as_dict(self) -> dict[str, Json]:
        """Return the entry of `rivet state show --json`."""
        return {
            "export": self.export,
            "cursor": _marks(self.cursor),
            "last_run": run_as_dict(self.runs[0]) if self.runs else None,
            "held_by": self.holder or None,
            "reconcile": {
                "due": self.due,
                "result": self.reconciled.data.get("result") if self.reconciled else None,
                "at": self.reconciled.at.isoformat() if self.reconciled else None,
            },
        }

    def progression(self) -> dict[str, Json]:
        """Return the entry of `rivet state progression --json`."""
        found: dict[str, Json] = {"export": self.export}
        for name in ("observed", "committed", "verified"):
            at = getattr(self.progress, f"{name}_at")
            found[name] = _marks(getattr(self.progress, name))
            found[f"{name}_at"] = at.isoformat() if at else None
        return found


def look(state: StateStore, exports: Sequence[str], *, limit: int, required: Collection[str] = ()) -> list[ExportState]:
    """Return what the state knows of these exports, with the newest `limit` runs of each.

    `required` are those that must be reconciled after each run.
    """
    cursors, progress, runs, reconciles = state.cursors(), state.progression(), state.histories(limit), state.reconciles()
    recent = state.histories(RECENT) if required else {}
    holders = state.leases.holders()
    return [
        ExportState(
            export=name,
            cursor=cursors.get(name, ()),
            progress=progress.get(name, Progress(export=name)),
            runs=runs.get(name, ()),
            holder=holders.get(f"export:{name}", ""),
            reconciled=reconciles.get(name),
            due=name in required and _is_due(recent.get(name, ()), reconciles.get(name)),
        )
        for name in exports
    ]


def _is_due(runs: Sequence[RunFact], reconciled: Event | None) -> bool:
    """Whether something was committed that no reconcile has found well since."""
    committed = next((run.finished_at or run.started_at for run in runs if run.status == "succeeded"), None)
    if committed is None:
        return False
    return reconciled is None or reconciled.at < committed or reconciled.data.get("result") not in WELL


def state_text(found: Sequence[ExportState], *, width: int) -> str:
    """Return the table of `rivet state show`."""
    rows: list[tuple[str, ...]] = [("export", "cursor", "last run", "at", "")]
    for item in found:
        last = item.runs[0] if item.runs else None
        at = last.started_at.strftime("%Y-%m-%d %H:%M:%S") if last else ""
        notes = [f"held by {item.holder}"] if item.holder else []
        notes += ["reconcile due"] if item.due else []
        rows.append((item.export, marks_text(item.cursor), last.status if last else "never ran", at, ", ".join(notes)))
    return "\n".join(clip(line, width) for line in align(rows))


def progression_text(found: Sequence[ExportState], *, width: int) -> str:
    """Return the table of `rivet state progression`."""
    rows: list[tuple[str, ...]] = [("export", "observed", "committed", "verified")]
    for item in found:
        boundaries = (item.progress.observed, item.progress.committed, item.progress.verified)
        rows.append((item.export, *(marks_text(marks) for marks in boundaries)))
    return "\n".join(clip(line, width) for line in align(rows))


def runs_text(found: Sequence[ExportState], *, width: int) -> str:
    """Return the table of `rivet state runs`."""
    rows: list[tuple[str, ...]] = [("export", "run", "status", "started", "took", "rows", "size", "")]
    for item in found:
        for run in item.runs:
            rows.append(
                (
                    item.export,
                    run.run_id,
                    run.status,
                    run.started_at.strftime("%Y-%m-%d %H:%M:%S"),
                    "" if run.seconds is None else seconds(run.seconds),
                    "" if run.rows is None else count(run.rows),
                    "" if run.bytes is None else size(run.bytes),
                    run.error_class,
                )
            )
    return "\n".join(clip(line, width) for line in align(rows, right=frozenset({4, 5, 6})))


def run_as_dict(run: RunFact) -> dict[str, Json]:
    """Return one run of `rivet state runs --json`."""
    return {
        "run_id": run.run_id,
        "status": run.status,
        "mode": run.mode,
        "started_at": run.started_at.isoformat(),
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "seconds": run.seconds,
        "rows": run.rows,
        "bytes": run.bytes,
        "retries": run.retries,
        "error_class": run.error_class,
    }


def marks_text(marks: Sequence[Mark]) -> str:
    """Return a cursor in one line: `updated_at 2024-01-01 00:00:00, id 7`, a dash for none."""
    return ", ".join(f"{mark.column} {mark.value}" for mark in marks) or "-"


def _marks(marks: Sequence[Mark]) -> list[Json]:
    return [mark.to_json() for mark in marks]
