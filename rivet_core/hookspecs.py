"""The hooks, on one page. Each takes nothing, returns a sequence of one kind of record, and is called once per plugin at load.

Because hooks take no arguments they never break; only records grow, by fields with defaults. No hook is `firstresult`, none
may be ordered or wrapped: where one answer is needed the config names it, where many count core folds them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pluggy

from rivet_core.api import (
    API_VERSION,
    CursorClassifier,
    DestinationSpec,
    PlanRenderer,
    ReasonEmitter,
    SchedulingPolicy,
    ScoringRule,
    SourceSpec,
)

PROJECT = "rivet"
ENTRY_POINT_GROUP = f"rivet.v{API_VERSION}"

hookspec = pluggy.HookspecMarker(PROJECT)


@hookspec
def rivet_sources() -> Sequence[SourceSpec]:
    """Called at load: the kinds of source this plugin can inspect and read."""
    return ()


@hookspec
def rivet_cursor_classifiers() -> Sequence[CursorClassifier]:
    """Called at load: verdicts on cursors from catalog facts. Best evidence wins; among equals the most cautious."""
    return ()


@hookspec
def rivet_scoring_rules() -> Sequence[ScoringRule]:
    """Called at load: rules that give an export reasons with points."""
    return ()


@hookspec
def rivet_reason_emitters() -> Sequence[ReasonEmitter]:
    """Called at load: reasons about the campaign, its groups and what must not run together."""
    return ()


@hookspec
def rivet_destinations() -> Sequence[DestinationSpec]:
    """Called at load: the kinds of destination this plugin can write to."""
    return ()


@hookspec
def rivet_scheduling_policies() -> Sequence[SchedulingPolicy]:
    """Called at load: policies that decide what starts next."""
    return ()


@hookspec
def rivet_renderers() -> Sequence[PlanRenderer]:
    """Called at load: formats for `rivet plan --format`."""
    return ()


HOOK_RECORDS: dict[str, type] = {
    "rivet_sources": SourceSpec,
    "rivet_cursor_classifiers": CursorClassifier,
    "rivet_scoring_rules": ScoringRule,
    "rivet_reason_emitters": ReasonEmitter,
    "rivet_destinations": DestinationSpec,
    "rivet_scheduling_policies": SchedulingPolicy,
    "rivet_renderers": PlanRenderer,
}
"""Hook name -> the record it returns."""
