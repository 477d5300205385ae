"""Fold the verdicts of all cursor classifiers: the best evidence wins, among equals the most cautious; order cannot matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Protocol

from rivet_core.api import CursorClassifier
from rivet_core.facts import Basis, CursorQuality, CursorRef, CursorVerdict, Evidence, ExportFacts, Role, TableFacts, TypeKind
from rivet_core.planning.confidence import PRIOR, confidence_of, weakest
from rivet_core.planning.guard import Fault, RuleClock, copy_facts, is_end, place_of, vet_evidence, vet_text
from rivet_core.planning.ranges import cursor_ref, leads
from rivet_core.planning.sizes import number
from rivet_core.planning.taxonomy import CORE


class _Plugin(Protocol):
    @property
    def name(self) -> str: ...


class OwnedClassifier(Protocol):
    """A classifier with the plugin that owns it."""

    @property
    def record(self) -> CursorClassifier:
        """What the plugin offers."""
        ...

    @property
    def plugin(self) -> _Plugin:
        """Who offers it."""
        ...


Resolve = Callable[[Any], Any]
Faults = dict[tuple[str, str], str]
"""What was wrong with a classifier, by its plugin and its name."""

CATALOG_QUALITY = 99
NULLS_QUALITY = 70
_TIMES = (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.DATE)
_GENERATED = ("identity", "sequence", "auto_increment")
_UPDATE_WORDS = ("updat", "modif", "chang", "touch")


def classify_cursor(
    table: TableFacts,
    ref: CursorRef,
    classifiers: Sequence[OwnedClassifier],
    resolve: Resolve,
    clock: RuleClock | None = None,
    faults: Faults | None = None,
) -> CursorVerdict:
    """Return the winning verdict on `ref`. A classifier that raises or answers nonsense is skipped, with a note in `why`.

    `clock` adds up the time of plugins over a whole plan, `faults` takes what was wrong with whom. Raises `PluginError` for one
    that takes more than its time or cannot be loaded.
    """
    clock = clock or RuleClock()
    verdicts: list[CursorVerdict] = []
    failed: list[str] = []
    for owned in classifiers:
        classify = resolve(owned.record.classify)
        plugin = owned.plugin.name
        core = plugin == CORE
        with nullcontext() if core else clock.watch(plugin):
            try:
                verdict = classify(table if core else copy_facts(table), ref)
                if verdict is not None:
                    verdicts.append(verdict if core else _vet(verdict, ref))
            except BaseException as error:
                if is_end(error):
                    raise
                # One broken classifier must not lose the others' verdicts.
                failed.append(f"{plugin}/{owned.record.name}")
                if faults is not None:
                    what = str(error) if isinstance(error, Fault) else f"raised {type(error).__name__}{place_of(error)}"
                    faults.setdefault((plugin, owned.record.name), what)
    best = min(verdicts, key=_strength) if verdicts else _no_verdict(ref)
    if failed:
        best = replace(best, why=f"{best.why} (skipped, failed: {', '.join(sorted(failed))})")
    return best


def _strength(verdict: CursorVerdict) -> tuple[int, int, tuple[str, ...], str]:
    return (-verdict.evidence_quality, -verdict.quality.caution, verdict.columns, verdict.why)


def _vet(verdict: object, ref: CursorRef) -> CursorVerdict:
    """Return a plugin's verdict on `ref` rebuilt field by field. Raises `Fault`."""
    if (
        type(verdict) is not CursorVerdict
        or not isinstance(verdict.quality, CursorQuality)
        or type(verdict.evidence_quality) is not int
        or not 0 <= verdict.evidence_quality <= 100
        or type(verdict.columns) is not tuple
        or type(verdict.evidence) is not tuple
    ):
        raise Fault("gave no usable verdict")
    if verdict.columns != ref.columns:
        raise Fault("gave a verdict on other columns than it was asked about")
    return CursorVerdict(
        quality=verdict.quality,
        columns=tuple(vet_text(name, "column") for name in verdict.columns),
        why=vet_text(verdict.why, "why"),
        evidence_quality=verdict.evidence_quality,
        evidence=tuple(vet_evidence(item) for item in verdict.evidence),
    )


def _no_verdict(ref: CursorRef) -> CursorVerdict:
    return CursorVerdict(
        quality=CursorQuality.NONE,
        columns=ref.columns,
        why="No classifier could say anything about this cursor.",
        evidence_quality=PRIOR,
    )


def cursor_candidates(
    table: TableFacts,
    classifiers: Sequence[OwnedClassifier],
    resolve: Resolve,
    clock: RuleClock | None = None,
    faults: Faults | None = None,
) -> tuple[CursorVerdict, ...]:
    """Return the verdict on every column that could mark progress, best first; columns that cannot are left out."""
    found = []
    for place, column in enumerate(table.columns):
        indexed = leads(table, column.name)
        time = column.kind in _TIMES
        key = column.kind in (TypeKind.INTEGER, TypeKind.UUID, TypeKind.DECIMAL) and (indexed or column.generated in _GENERATED)
        if not (time or key) or not column.readable:
            continue
        ref = CursorRef(columns=(column.name,), declared=False)
        verdict = classify_cursor(table, ref, classifiers, resolve, clock, faults)
        if verdict.quality is not CursorQuality.NONE:
            found.append(
                (verdict.quality.caution, not indexed, not tracks_updates(column.name, column.default), place, verdict)
            )
    found.sort(key=lambda entry: entry[:4])
    return tuple(entry[4] for entry in found)


def tracks_updates(name: str, default: str | None) -> bool:
    """Whether a column looks like one that moves when its row is updated: by an ON UPDATE clause, else by its name."""
    return "on update" in (default or "").lower() or any(word in name.lower() for word in _UPDATE_WORDS)


def best_candidate(candidates: Sequence[CursorVerdict]) -> CursorVerdict | None:
    """Return the verdict for a table whose cursor nobody declared: the best candidate, or `weak_multi_candidate`.

    When no candidate is strong and several times qualify, which of them marks progress is open.
    """
    if not candidates:
        return None
    rivals = [verdict for verdict in candidates if verdict.quality is CursorQuality.WEAK_TIME]
    if candidates[0].quality is not CursorQuality.WEAK_TIME or len(rivals) < 2:
        return candidates[0]
    columns = tuple(name for verdict in rivals for name in verdict.columns)
    return CursorVerdict(
        quality=CursorQuality.WEAK_MULTI_CANDIDATE,
        columns=columns,
        why=f"{', '.join(columns)} all qualify and none is declared.",
        evidence_quality=min(verdict.evidence_quality for verdict in rivals),
        evidence=tuple(evidence for verdict in rivals for evidence in verdict.evidence),
    )


def cursor_confidence(facts: ExportFacts) -> int:
    """Return how far the facts about the cursor are supported: 100 when the mode has none, else the weakest needed one.

    Needed are the column's own description and, when it is nullable, its share of NULLs.
    """
    ref = cursor_ref(facts.spec)
    if ref is None:
        return 100
    column = facts.table.column(ref.columns[0])
    if column is None:
        return PRIOR
    if not column.nullable:
        return CATALOG_QUALITY
    if column.null_frac is None:
        return PRIOR
    share = Evidence(
        signal="null_frac",
        value=column.null_frac,
        unit="",
        source="statistics",
        observed_at=facts.table.statistics_at,
        quality=NULLS_QUALITY,
        basis=Basis.STATISTICS,
        changes=facts.table.changes_since_statistics,
    )
    rows = next((count for count in map(number, facts.table.rows) if count), None)
    support = confidence_of(share, facts.as_of, rows=rows, trust_changes=facts.server.role is not Role.STANDBY)
    return weakest((CATALOG_QUALITY, support))
