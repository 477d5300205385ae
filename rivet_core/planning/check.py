"""Check a campaign before anything runs: how each export would be read, what becomes of its columns, what stands against it.

It looks with the eyes of `plan`: the same survey, the same judge, nothing of its own but the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from rivet_core.config import CampaignConfig
from rivet_core.errors import RivetError
from rivet_core.facts import ExportSpec, Json, Mode
from rivet_core.planning.entries import WORDS, strategy
from rivet_core.planning.finding import Finding, Severity
from rivet_core.planning.judging import Verdict, judge_all
from rivet_core.planning.ranges import range_column, range_is_indexed
from rivet_core.planning.survey import Subject, Survey, survey
from rivet_core.planning.typereport import ColumnReport, judge_columns, report_columns
from rivet_core.plugins import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCheck:
    """One export. `range_column` is what ranges are read by, `indexed` whether an index serves it; both empty when unknown."""

    name: str
    source: str
    ok: bool
    strategy: str
    verdict: str
    cursor: tuple[str, ...] = ()
    cursor_quality: str = ""
    cursor_why: str = ""
    range_column: str = ""
    indexed: bool | None = None
    columns: tuple[ColumnReport, ...] = ()
    findings: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, Json]:
        """Return the object that `--json` prints."""
        cursor: Json = None
        if self.cursor:
            cursor = {"columns": list(self.cursor), "quality": self.cursor_quality, "why": self.cursor_why}
        index: Json = {"column": self.range_column, "used": self.indexed} if self.range_column else None
        return {
            "name": self.name,
            "source": self.source,
            "ok": self.ok,
            "strategy": self.strategy,
            "verdict": self.verdict,
            "cursor": cursor,
            "index": index,
            "columns": [column.as_dict() for column in self.columns],
            "findings": [dict(finding.as_dict()) for finding in self.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The whole campaign; `findings` are those that belong to a source or to all."""

    exports: tuple[ExportCheck, ...]
    findings: tuple[Finding, ...]

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Everything found, sources first."""
        return (*self.findings, *(finding for export in self.exports for finding in export.findings))


def check_campaign(
    config: CampaignConfig, specs: Sequence[ExportSpec], registry: Registry, *, strict: bool = False
) -> CheckReport:
    """Survey and judge `specs` and put into words what was found. Changes nothing.

    `strict` makes an error of every column that does not arrive exactly. Raises what planning raises.
    """
    as_of = datetime.now(UTC).replace(microsecond=0)
    found = survey(config, specs, registry, as_of=as_of, workers=config.planning.workers)
    verdicts = judge_all([subject.facts for subject in found.subjects if subject.facts is not None], config, registry)
    by_name = {verdict.facts.spec.name: verdict for verdict in verdicts}
    exports = tuple(_export(subject, by_name.get(subject.spec.name), strict=strict) for subject in found.subjects)
    return CheckReport(exports=_say_shared_once(exports, found), findings=tuple(_sources(found)))


def _sources(found: Survey) -> list[Finding]:
    findings = [
        Finding.of(view.error, f"source {name}") for name, view in sorted(found.views.items()) if view.error is not None
    ]
    return findings + [Finding(severity=Severity.WARNING, subject="campaign", message=text) for text in found.warnings]


def _say_shared_once(exports: tuple[ExportCheck, ...], found: Survey) -> tuple[ExportCheck, ...]:
    """A source that cannot be asked is said once, not again at each of its exports."""
    lost = {name for name, view in found.views.items() if view.error is not None}
    return tuple(replace(export, findings=()) if export.source in lost else export for export in exports)


def _export(subject: Subject, verdict: Verdict | None, *, strict: bool) -> ExportCheck:
    spec = subject.spec
    if verdict is None:
        finding = Finding.of(subject.error or RivetError("it was not inspected"), spec.name)
        return ExportCheck(
            name=spec.name, source=spec.source, ok=False, strategy=WORDS[spec.mode], verdict="unplannable", findings=(finding,)
        )
    facts, judgement = verdict.facts, verdict.judgement
    findings = [*judge_columns(facts.spec, facts.table, strict=strict), *_judged(verdict)]
    column = range_column(facts)
    reads_by_cursor = facts.spec.mode in (Mode.INCREMENTAL, Mode.TIME_WINDOW)
    cursor = facts.cursor if reads_by_cursor else None
    return ExportCheck(
        name=spec.name,
        source=spec.source,
        ok=all(finding.severity is not Severity.ERROR for finding in findings),
        strategy=strategy(facts.spec, facts.units),
        verdict=judgement.diagnostics.verdict,
        cursor=() if cursor is None else cursor.columns,
        cursor_quality="" if cursor is None else str(cursor.quality),
        cursor_why="" if cursor is None else cursor.why,
        range_column=column or "",
        indexed=range_is_indexed(facts) if column else None,
        columns=report_columns(facts.spec, facts.table),
        findings=tuple(findings),
    )


def _judged(verdict: Verdict) -> list[Finding]:
    name, judgement = verdict.facts.spec.name, verdict.judgement
    findings = [Finding(severity=Severity.WARNING, subject=name, message=text) for text in judgement.diagnostics.warnings]
    advice = judgement.suggestion
    if advice.better:
        ways = [f"mode {advice.mode}"]
        ways += [f"cursor_column {advice.cursor}"] if advice.cursor else []
        ways += [f"chunk_column {advice.chunk_by}"] if advice.chunk_by else []
        ways += [f"tuning profile {advice.profile}"] if advice.profile != verdict.facts.spec.tuning.profile else []
        findings.append(
            Finding(severity=Severity.INFO, subject=name, message=f"better: {', '.join(ways)}", evidence=advice.why)
        )
    findings += [
        Finding(
            severity=Severity.INFO,
            subject=name,
            message="a right is missing that would tell more about it",
            hint=grant,
        )
        for grant in verdict.facts.table.grants
    ]
    return findings
