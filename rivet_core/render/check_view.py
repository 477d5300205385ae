"""The check of a campaign as text: a block per export, its columns below it, findings with their severity in front."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rivet_core.facts import Fidelity
from rivet_core.facts.plural import several
from rivet_core.planning.check import CheckReport, ExportCheck
from rivet_core.planning.finding import Finding, Severity
from rivet_core.render.columns import align, clip

MARKS = {Severity.OK: "ok", Severity.INFO: "info", Severity.WARNING: "warning", Severity.ERROR: "ERROR"}


def check_text(report: CheckReport, *, width: int = 120, every_column: bool = False) -> str:
    """Return the whole report; columns that arrive exactly are listed only when asked for."""
    lines: list[str] = []
    for export in report.exports:
        lines += [*_block(export, width, every_column), ""]
    lines += finding_lines(report.findings, with_subject=True)
    lines += [""] if report.findings else []
    lines.append(_total(report))
    return "\n".join(lines)


def finding_lines(findings: Iterable[Finding], *, with_subject: bool) -> list[str]:
    """Return a line per finding, its evidence in brackets and its hint below it."""
    lines = []
    for finding in findings:
        subject = f"{finding.subject}: " if with_subject else ""
        evidence = f" ({finding.evidence})" if finding.evidence else ""
        lines.append(f"  {MARKS[finding.severity]:<7}  {subject}{finding.message}{evidence}")
        if finding.hint:
            lines.append(f"           hint: {finding.hint}")
    return lines


def count_findings(findings: Iterable[Finding]) -> str:
    """Return `2 errors, 1 warning`, or `no errors, no warnings`."""
    found = Counter(finding.severity for finding in findings)
    words = []
    for severity, word in ((Severity.ERROR, "error"), (Severity.WARNING, "warning")):
        number = found[severity]
        words.append(several(number, word) if number else f"no {word}s")
    return ", ".join(words)


def _block(export: ExportCheck, width: int, every_column: bool) -> list[str]:
    lines = [f"{export.name} ({export.source}): {export.strategy}, {export.verdict}"]
    if export.cursor:
        lines.append(f"  cursor   {', '.join(export.cursor)}: {export.cursor_quality.replace('_', ' ')}; {export.cursor_why}")
    if export.range_column:
        used = "an index serves it" if export.indexed else "no index serves it"
        lines.append(f"  range    by {export.range_column}: {used}")
    if export.columns:
        found = Counter(str(column.fidelity) for column in export.columns)
        counted = ", ".join(f"{number} {fidelity}" for fidelity, number in sorted(found.items()))
        lines.append(f"  columns  {len(export.columns)}: {counted}")
    shown = [column for column in export.columns if every_column or column.fidelity is not Fidelity.EXACT]
    rows: Sequence[Sequence[str]] = [
        (column.name, column.source_type or "-", "->", column.arrow_type or "-", str(column.fidelity), column.note)
        for column in shown
    ]
    lines += [clip(f"           {line}", width) for line in align(rows)]
    return [*lines, *finding_lines(export.findings, with_subject=False)]


def _total(report: CheckReport) -> str:
    ready = sum(export.ok for export in report.exports)
    return f"{ready} of {several(len(report.exports), 'export')} pass; {count_findings(report.all_findings)}"
