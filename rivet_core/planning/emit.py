"""Ask every reason emitter about the campaign and take the sorted union of what they say; none can move a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rivet_core.api import ReasonEmitter
from rivet_core.facts import CampaignFacts, Reason, ReasonKind
from rivet_core.planning.guard import MOST_REASONS, Fault, RuleClock, copy_facts, is_end, place_of, vet_reason, vet_text
from rivet_core.plugins import Owned, Registry

CORE = "core"


def emit_reasons(facts: CampaignFacts, registry: Registry, clock: RuleClock | None = None) -> tuple[Reason, ...]:
    """Return the union of all emitters' reasons, 0 points each, in an order that does not depend on who said them.

    A third-party emitter that raises or answers nonsense becomes one RV890 reason. Raises `PluginError` for a plugin that takes
    more than its time, and for one that cannot be loaded.
    """
    clock = clock or RuleClock()
    found: list[Reason] = []
    for owned in registry.emitters:
        found += _ask(owned, facts, registry, clock)
    unique = {(item.code, item.group, item.exports, item.provider, item.message): item for item in found}
    return tuple(unique[key] for key in sorted(unique))


def _ask(owned: Owned[ReasonEmitter], facts: CampaignFacts, registry: Registry, clock: RuleClock) -> list[Reason]:
    plugin = owned.plugin.name
    if plugin == CORE:
        return [replace(reason, provider=CORE) for reason in registry.resolve(owned.record.emit)(facts)]
    fault = ""
    reasons: list[Reason] = []
    emit = registry.resolve(owned.record.emit)
    with clock.watch(plugin):
        try:
            reasons = _vet(emit(copy_facts(facts)), owned.record, plugin, facts)
        except Fault as error:
            fault = str(error)
        except BaseException as error:
            if is_end(error):
                raise
            # Whatever a plugin raises, the campaign goes on without its words.
            fault = f"raised {type(error).__name__}{place_of(error)}"
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
    return reasons


def _vet(answer: object, record: ReasonEmitter, plugin: str, facts: CampaignFacts) -> list[Reason]:
    if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
        raise Fault(f"returned {type(answer).__name__}, not a sequence of Reason")
    if len(answer) > MOST_REASONS:
        raise Fault(f"returned {len(answer)} reasons, more than {MOST_REASONS}")
    names = {export.name for export in facts.exports}
    found = []
    for item in answer:
        reason = vet_reason(item, record, plugin)
        if reason.points or reason.dimension is not None or reason.kind is not ReasonKind.INFO:
            raise Fault("returned a reason with points: emitters inform only")
        group = vet_text(item.group, "group")
        if group and group not in facts.groups:
            raise Fault("named a source group that is not in the campaign")
        if type(item.exports) is not tuple or not all(type(name) is str and name in names for name in item.exports):
            raise Fault("named exports that are not in the campaign")
        found.append(replace(reason, group=group, exports=item.exports))
    return found
