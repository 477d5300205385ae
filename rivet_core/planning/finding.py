"""A finding: one thing that `check` or `doctor` looked at and what a person should know about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from rivet_core.errors import EXIT_CONFIG, EXIT_PLUGIN, PluginError, RivetError, most_serious


class Severity(StrEnum):
    """How much a finding matters. Only an error changes the exit code."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`subject` names what was looked at, `evidence` what was seen there, `hint` what to do about it.

    `exit_code` is what the command ends with when this is an error: 3 where a plugin cannot be used, else 2.
    """

    severity: Severity
    subject: str
    message: str
    evidence: str = ""
    hint: str = ""
    exit_code: int = EXIT_CONFIG

    @classmethod
    def of(cls, error: RivetError, subject: str, *, evidence: str = "") -> Finding:
        """Return what went wrong at `subject` as a finding of severity error."""
        code = EXIT_PLUGIN if isinstance(error, PluginError) else EXIT_CONFIG
        return cls(
            severity=Severity.ERROR,
            subject=subject,
            message=error.message,
            evidence=evidence,
            hint=error.hint,
            exit_code=code,
        )

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


def exit_code_of(findings: Iterable[Finding]) -> int:
    """Return what `check` and `doctor` end with: the most serious code of the errors, 0 when there is none."""
    return most_serious(finding.exit_code for finding in findings if finding.severity is Severity.ERROR)
