"""How a campaign ended, export by export, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rivet_core.errors import EXIT_BROKEN_PIPE, EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_TERMINATED, most_serious
from rivet_core.facts import Json

DONE, FAILED, SKIPPED, NOT_STARTED, ALREADY_DONE = "done", "failed", "skipped", "not_started", "already_done"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOutcome:
    """One export. `rows`, `bytes` and `parts` are what this run wrote; `reason` says why it was skipped or not started."""

    name: str
    status: str
    run_id: str = ""
    rows: int = 0
    bytes: int = 0
    parts: int = 0
    seconds: float = 0.0
    retries: int = 0
    resumed_units: int = 0
    reason: str = ""
    error: Mapping[str, Json] | None = None
    warnings: tuple[str, ...] = ()
    delivery: str = ""
    predicted_seconds: float | None = None

    @property
    def exit_code(self) -> int:
        """The code of this export alone."""
        if self.error is not None:
            code = self.error.get("exit_code")
            return code if isinstance(code, int) and code else EXIT_FAILED
        return EXIT_DONE if self.status in (DONE, ALREADY_DONE) else EXIT_FAILED

    def as_dict(self) -> dict[str, Json]:
        """Return the object of the summary."""
        return {
            "name": self.name,
            "status": self.status,
            "run_id": self.run_id,
            "rows": self.rows,
            "bytes": self.bytes,
            "parts": self.parts,
            "seconds": round(self.seconds, 3),
            "predicted_seconds": self.predicted_seconds,
            "retries": self.retries,
            "resumed_units": self.resumed_units,
            "reason": self.reason,
            "error": None if self.error is None else dict(self.error),
            "warnings": list(self.warnings),
            "delivery": self.delivery,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOutcome:
    """All exports, in the order of the plan. `interrupted` is 130, 143 or 141 when a signal or a closed stdout ended it."""

    plan_id: str
    policy: str
    workers: int
    seconds: float
    exports: tuple[ExportOutcome, ...]
    warnings: tuple[str, ...] = ()
    shared_causes: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()
    interrupted: int = 0
    order: tuple[str, ...] = field(default=())
    """Exports in the order in which they started."""
    pauses: tuple[str, ...] = ()
    """Groups that were left alone for a while: why, how long, and the worst value with its limit."""
    unrecorded: int = 0
    """The exit code of what kept the journal from being written, 0 when it is complete."""
    predicted_seconds: float | None = None
    """What the plan said the whole would take; `None` when something else was run than it was said of."""

    @property
    def exit_code(self) -> int:
        """The most serious code of all; a signal's own code when nothing worse than it happened."""
        code = most_serious([*(export.exit_code for export in self.exports), self.unrecorded])
        if self.interrupted in (EXIT_INTERRUPTED, EXIT_TERMINATED, EXIT_BROKEN_PIPE) and code in (EXIT_DONE, EXIT_FAILED):
            return self.interrupted
        return code

    def count(self, status: str) -> int:
        """How many exports ended so."""
        return sum(export.status == status for export in self.exports)

    def headline(self) -> dict[str, Any]:
        """Return the numbers of the whole."""
        return {
            "seconds": round(self.seconds, 3),
            "predicted_seconds": self.predicted_seconds,
            "exit_code": self.exit_code,
            "counts": {status: self.count(status) for status in (DONE, ALREADY_DONE, FAILED, SKIPPED, NOT_STARTED)},
            "rows": sum(export.rows for export in self.exports),
            "bytes": sum(export.bytes for export in self.exports),
            "shared_causes": list(self.shared_causes),
        }

    def as_dict(self) -> dict[str, Json]:
        """Return the object of `--summary-output` and `--json`."""
        return {
            "plan_id": self.plan_id,
            "policy": self.policy,
            "workers": self.workers,
            **self.headline(),
            "exports": [export.as_dict() for export in self.exports],
            "warnings": list(self.warnings),
            "forced": list(self.forced),
            "pauses": list(self.pauses),
            "interrupted": self.interrupted,
            "order": list(self.order),
        }
