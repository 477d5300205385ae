"""Ask every reason emitter about the campaign and take the sorted union of what they say; none can move a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rivet_core.api import ReasonEmitter
from rivet_core.facts import CampaignFacts, Reason, ReasonKind
from rivet_core.plugins import Owned, Registry

CORE = "core"
MAX_REASONS = 100
"""At most this many reasons of one third-party emitter."""


def emit_reasons(facts: CampaignFacts, registry: Registry) -> tuple[Reason, ...]:
    """Return the union of all emitters' reasons, 0 points each, in an order that does not depend on who said them.

    A third-party emitter that raises or answers nonsense becomes one RV890 reason.
    """
    found: list[Reason] = []
    for owned in registry.emitters:
        found += _ask(owned, facts, registry)
    unique = {(item.code, item.group, item.exports, item.provider, item.message): item for item in found}
    return tuple(unique[key] for key in sorted(unique))


def _ask(owned: Owned[ReasonEmitter], facts: CampaignFacts, registry: Registry) -> list[Reason]:
    plugin = owned.plugin.name
    if plugin == CORE:
        return [replace(reason, provider=CORE) for reason in registry.resolve(owned.record.emit)(facts)]
    try:
        answer = registry.resolve(owned.record.emit)(facts)
        fault = _fault(answer, facts)
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises, the campaign goes on without its words
        fault = f"raised {type(error).__name__}: {error}"
        answer = ()
    if fault:
        return [
            Reason(
                code="RV890",
                kind=ReasonKind.INFO,
                family="plugin",
                provider=plugin,
                message=f"The emitter {owned.record.name} of {plugin} was not used: it {fault}.",
            )
        ]
    return [replace(reason, provider=plugin, rule_version=1) for reason in answer]


def _fault(answer: object, facts: CampaignFacts) -> str:
    if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
        return f"returned {type(answer).__name__}, not a sequence of Reason"
    if len(answer) > MAX_REASONS:
        return f"returned {len(answer)} reasons, more than {MAX_REASONS}"
    names = {export.name for export in facts.exports}
    for reason in answer:
        if not isinstance(reason, Reason):
            return f"returned a {type(reason).__name__} where Reason is due"
        texts = (reason.code, reason.message, reason.caveat, reason.remedy, reason.group, reason.family)
        if not all(isinstance(text, str) for text in texts) or not reason.code.startswith("X-"):
            return "returned a reason with a code of core or with fields that are not text"
        if reason.points or reason.dimension is not None or reason.kind is not ReasonKind.INFO:
            return "returned a reason with points: emitters inform only"
        if not isinstance(reason.exports, tuple) or not set(reason.exports) <= names:
            return "named exports that are not in the campaign"
    return ""
