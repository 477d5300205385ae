"""Judge one export: facts in; reasons, scores, confidence, classes and advice out. Pure.

All rules run in one fixed order; third parties under guard. Nothing here reads a message: text follows from the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from rivet_core.api import ScoringRule
from rivet_core.errors import PluginError, RivetError, in_words
from rivet_core.facts import Dimension, ExportFacts, Json, Reason, ReasonKind
from rivet_core.planning.adjust import Suppression, adjust
from rivet_core.planning.cursors import Faults, best_candidate, classify_cursor, cursor_candidates, cursor_confidence
from rivet_core.planning.diagnose import Diagnostics, diagnose
from rivet_core.planning.fold import Scores, fold
from rivet_core.planning.freshness import freshness_confidence
from rivet_core.planning.guard import MOST_REASONS, RuleClock, copy_facts, failure, run_guarded
from rivet_core.planning.heavy import is_heavy
from rivet_core.planning.ranking import COST_CLASSES, PRIORITY_CLASSES, RISK_CLASSES, Band, band, priority
from rivet_core.planning.rule_options import rule_options
from rivet_core.planning.suggest import Suggestion, suggest, table_size
from rivet_core.planning.taxonomy import CORE
from rivet_core.planning.work import Work, select_work

__all__ = [
    "JudgeSettings",
    "Judgement",
    "OwnedRule",
    "RuleClock",
    "best_candidate",
    "classify_cursor",
    "cursor_candidates",
    "judge_export",
]


class _Plugin(Protocol):
    @property
    def name(self) -> str: ...


class OwnedRule(Protocol):
    """A scoring rule with the plugin that owns it."""

    @property
    def record(self) -> ScoringRule:
        """What the plugin offers."""
        ...

    @property
    def plugin(self) -> _Plugin:
        """Who offers it."""
        ...


@dataclass(frozen=True, slots=True)
class _Prepared:
    record: ScoringRule
    plugin: str
    score: Callable[[ExportFacts, Any], Any]
    options: object


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """What the config says about judging; one object for a whole plan.

    `resolve` turns a lazy reference into the object. `overrides` maps a code to its points, `None` for off. `grants` maps a
    plugin to the kinds (`base`, `gate`) it may use, `options` a plugin to its own options; paths in them are relative to
    `base`. `clock` adds up plugins' time.
    """

    resolve: Callable[[Any], Any]
    overrides: Mapping[str, int | None] = field(default_factory=dict)
    suppressions: Sequence[Suppression] = ()
    grants: Mapping[str, Collection[str]] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    base: Path = Path()
    clock: RuleClock = field(default_factory=RuleClock)
    prepared: dict[int, tuple[Sequence[OwnedRule], tuple[_Prepared, ...]]] = field(
        default_factory=dict, repr=False, compare=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What Rivet thinks of one export. Scores and confidence 0..100, priority 0..1000, sizes in bytes.

    The classes carry their margin. `parallel_safe` does not know the group yet: isolation is decided beside the others.
    `serial` is the declared `parallel_safe: false`. `basis` is `measured` (own runs), `estimated` or `unknown`.
    """

    export: str
    scores: Scores
    confidence: Scores
    reasons: tuple[Reason, ...]
    priority: int
    priority_class: Band
    cost_class: Band
    risk_class: Band
    heavy: bool
    heavy_why: str
    parallel_safe: bool
    serial: bool
    work: Work
    estimated_rows: int | None
    estimated_bytes: int | None
    delta_rows: int | None
    delta_bytes: int | None
    basis: str
    diagnostics: Diagnostics
    suggestion: Suggestion

    @property
    def work_bytes(self) -> int:
        """Expected work in bytes; a stand-in when nothing is known."""
        return self.work.bytes


def judge_export(
    facts: ExportFacts, rules: Sequence[OwnedRule], settings: JudgeSettings, faults: Faults | None = None
) -> Judgement:
    """Return the judgement of one export. `faults` are those of the classifiers that were asked about it.

    Raises `PluginError` when a plugin cannot be resolved or takes more than its time, `ConfigError` for wrong plugin options.
    """
    collected = _collect(facts, prepare_rules(rules, settings), settings)
    for (plugin, name), what in sorted((faults or {}).items()):
        collected.append(failure(plugin, name, what, kind="Classifier", lost="its verdicts are not used"))
    adjusted = adjust(
        collected,
        export=facts.spec.name,
        as_of=facts.as_of,
        overrides=settings.overrides,
        suppressions=settings.suppressions,
    )
    scores, reasons = fold(adjusted)
    work = select_work(facts)
    confidence = Scores(work.confidence, cursor_confidence(facts), freshness_confidence(facts))
    rank = priority(scores.cost, scores.risk, scores.value, confidence.value)
    heavy, heavy_why = is_heavy(facts, work)
    gated = any(reason.kind is ReasonKind.GATE for reason in reasons)
    measured = work.code == "RV101" or (work.table_rows is not None and work.table_rows.source == "last full run")
    return Judgement(
        export=facts.spec.name,
        scores=scores,
        confidence=confidence,
        reasons=reasons,
        priority=rank,
        priority_class=band(rank, PRIORITY_CLASSES),
        cost_class=band(scores.cost, COST_CLASSES),
        risk_class=band(scores.risk, RISK_CLASSES),
        heavy=heavy,
        heavy_why=heavy_why,
        parallel_safe=not heavy and not gated and facts.spec.parallel_safe is not False,
        serial=facts.spec.parallel_safe is False,
        work=work,
        estimated_rows=work.rows,
        estimated_bytes=table_size(work),
        delta_rows=work.delta_rows,
        delta_bytes=work.delta_bytes,
        basis="measured" if measured else "estimated" if work.known else "unknown",
        diagnostics=diagnose(facts, work, scores, confidence, heavy, reasons),
        suggestion=suggest(facts),
    )


def prepare_rules(rules: Sequence[OwnedRule], settings: JudgeSettings) -> tuple[_Prepared, ...]:
    """Resolve each rule with its options once per plan, sorted by plugin and name, core first.

    Raises `PluginError` for a rule that cannot be loaded, `ConfigError` for options that it does not take.
    """
    kept = settings.prepared.get(id(rules))
    if kept is not None and kept[0] is rules:
        return kept[1]
    ordered = sorted(rules, key=lambda owned: (owned.plugin.name != CORE, owned.plugin.name, owned.record.name))
    prepared = tuple(_resolve(owned, settings) for owned in ordered)
    settings.prepared[id(rules)] = (rules, prepared)
    return prepared


def _resolve(owned: OwnedRule, settings: JudgeSettings) -> _Prepared:
    plugin, record = owned.plugin.name, owned.record
    raw = settings.options.get(plugin, {})
    try:
        score = settings.resolve(record.score)
        model = None if record.options is None else settings.resolve(record.options)
    except RivetError:
        raise
    except Exception as error:
        raise PluginError(
            f"rule {record.name} of plugin {plugin} cannot be loaded: {in_words(error)}",
            hint=f"reinstall it, or leave it out with plugins.block: [{plugin}]",
        ) from error
    return _Prepared(record, plugin, score, rule_options(model, raw, plugin, record.name, settings.base))


def _collect(facts: ExportFacts, prepared: Sequence[_Prepared], settings: JudgeSettings) -> list[Reason]:
    """Run every rule. Core reasons come as they are; others are checked, per rule and then per plugin."""
    collected: list[Reason] = []
    theirs: dict[str, list[tuple[str, list[Reason]]]] = {}
    copies: dict[str, ExportFacts] = {}
    for rule in prepared:
        if rule.plugin == CORE:
            collected.extend(rule.score(facts, rule.options))
        else:
            if rule.plugin not in copies:
                copies[rule.plugin] = copy_facts(facts)
            found = run_guarded(
                rule.record,
                rule.plugin,
                rule.score,
                copies[rule.plugin],
                rule.options,
                granted=settings.grants.get(rule.plugin, ()),
                clock=settings.clock,
            )
            theirs.setdefault(rule.plugin, []).append((rule.record.name, found))
    granted: list[Reason] = []
    for plugin, answers in theirs.items():
        reasons = _one_provider(plugin, answers)
        granted.extend(reason for reason in reasons if reason.kind is ReasonKind.BASE)
        collected.extend(reason for reason in reasons if reason.kind is not ReasonKind.BASE)
    return _with_granted_bases(collected, granted) if granted else collected


def _one_provider(plugin: str, answers: Sequence[tuple[str, list[Reason]]]) -> list[Reason]:
    """All reasons of one plugin: no code twice in a dimension, at most a hundred, whatever the order of its rules."""
    reasons = [reason for _, found in answers for reason in found]
    if len(answers) == 1:
        return reasons
    names = ", ".join(sorted(name for name, _ in answers))
    scored = [(reason.code, reason.dimension) for reason in reasons if reason.code != "RV890"]
    if len(set(scored)) != len(scored):
        return [failure(plugin, names, "returned one code twice for the same dimension")]
    if len(reasons) > MOST_REASONS:
        return [failure(plugin, names, f"returned {len(reasons)} reasons, at most {MOST_REASONS} are allowed")]
    return reasons


def _with_granted_bases(collected: list[Reason], granted: list[Reason]) -> list[Reason]:
    """Put granted bases in the place of core's own, which then only corroborate.

    Among several the most cautious counts: highest cost and risk, lowest value.
    """
    chosen: dict[Dimension, Reason] = {}
    for reason in granted:
        assert reason.dimension is not None  # noqa: S101 - the guard refuses a base without one
        rival = chosen.get(reason.dimension)
        if rival is None or _caution(reason) > _caution(rival):
            chosen[reason.dimension] = reason
    kept = [
        replace(reason, kind=ReasonKind.CORROBORATES, points=0, potential=0)
        if reason.kind is ReasonKind.BASE and reason.dimension in chosen
        else reason
        for reason in collected
    ]
    spare = [replace(reason, kind=ReasonKind.CORROBORATES, points=0) for reason in granted if reason not in chosen.values()]
    return [*kept, *chosen.values(), *spare]


def _caution(reason: Reason) -> tuple[int, str, str]:
    points = -reason.points if reason.dimension is Dimension.VALUE else reason.points
    return (points, reason.provider, reason.code)
