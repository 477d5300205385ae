"""What the doctor found as text: one line per finding, the worst counted at the end."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.planning.finding import Finding, Severity, any_error
from rivet_core.render.check_view import count_findings, finding_lines


def doctor_text(findings: Sequence[Finding], *, quiet: bool = False) -> str:
    """Return the whole report; `quiet` keeps only what somebody should act on."""
    return findings_text(findings, quiet=quiet, good="ready to run", bad="not ready to run")


def findings_text(findings: Sequence[Finding], *, quiet: bool, good: str, bad: str) -> str:
    """Return one line per finding and the verdict: `good` without an error, else `bad`."""
    shown = [finding for finding in findings if not quiet or finding.severity in (Severity.WARNING, Severity.ERROR)]
    verdict = bad if any_error(findings) else good
    return "\n".join([*finding_lines(shown, with_subject=True), f"{verdict}: {count_findings(findings)}"])
