"""Judge every export of a campaign: cursor verdicts first, then the rules, with what the config says about both."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rivet_core.config import CampaignConfig
from rivet_core.facts import ExportFacts
from rivet_core.planning.cursors import Faults
from rivet_core.planning.judge import (
    Judgement,
    JudgeSettings,
    RuleClock,
    best_candidate,
    classify_cursor,
    cursor_candidates,
    judge_export,
    prepare_rules,
)
from rivet_core.planning.ranges import cursor_ref
from rivet_core.plugins import Registry
from rivet_core.plugins.limit import alarms


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The facts with the cursor's verdict in them, and what Rivet thinks of the export."""

    facts: ExportFacts
    judgement: Judgement


def judge_all(exports: Sequence[ExportFacts], config: CampaignConfig, registry: Registry) -> list[Verdict]:
    """Return one verdict per export, in the same order."""
    settings = _settings(config, registry)
    verdicts = []
    with alarms():
        for facts in exports:
            faults: Faults = {}
            seen = _with_cursor(facts, registry, settings.clock, faults)
            verdicts.append(Verdict(facts=seen, judgement=judge_export(seen, registry.rules, settings, faults)))
    return verdicts


def check_rules(config: CampaignConfig, registry: Registry) -> None:
    """Load every rule with its options from the config. Raises what planning would."""
    prepare_rules(registry.rules, _settings(config, registry))


def _settings(config: CampaignConfig, registry: Registry) -> JudgeSettings:
    return JudgeSettings(
        resolve=registry.resolve,
        overrides=config.planning.rules,
        suppressions=config.planning.suppress,
        grants=config.plugins.grant,
        options=config.plugins.options,
        base=config.base,
    )


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from walking a growing plan again and again: a fifth of the time at 10,000 exports.

    What is left at the end counts as old, or the first young collection afterwards would walk all of it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def _with_cursor(facts: ExportFacts, registry: Registry, clock: RuleClock, faults: Faults) -> ExportFacts:
    candidates = cursor_candidates(facts.table, registry.classifiers, registry.resolve, clock, faults)
    ref = cursor_ref(facts.spec)
    if ref is None:
        cursor = best_candidate(candidates)
    else:
        cursor = classify_cursor(facts.table, ref, registry.classifiers, registry.resolve, clock, faults)
    return replace(facts, cursor=cursor, candidates=candidates)
