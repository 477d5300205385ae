"""A finding: one thing that `check` or `doctor` looked at and what a person should know about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters. Only an error changes the exit code."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`subject` names what was looked at, `evidence` what was seen there, `hint` what to do about it."""

    severity: Severity
    subject: str
    message: str
    evidence: str = ""
    hint: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the object that `--json` prints."""
        return {
            "severity": str(self.severity),
            "subject": self.subject,
            "message": self.message,
            "evidence": self.evidence,
            "hint": self.hint,
        }


def any_error(findings: Iterable[Finding]) -> bool:
    """Whether one of the findings is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)
