"""Run third-party scoring rules so that nothing they do can break a plan or another rule (scoring section 3).

A plugin sees its own copy of the facts. What it returns is checked field by field and rebuilt; a rule that raises, returns
something else than reasons, or leaves its bounds becomes one RV890 with 0 points, all its reasons dropped: half of a broken
answer is no evidence. Slowness never changes points; a plugin over its time budget stops the plan by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from math import isfinite
from time import perf_counter
from types import MappingProxyType, MemberDescriptorType
from typing import Any

from rivet_core.api import PLUGIN_CODE, ReasonEmitter, ScoringRule
from rivet_core.errors import PluginError
from rivet_core.facts import Dimension, Evidence, ExportFacts, Reason, ReasonKind
from rivet_core.interrupts import is_ctrl_c
from rivet_core.plugins.limit import SECONDS, Overdue, time_limit

MOST_REASONS = 100
"""Reasons a plugin may give one export."""
MOST_POINTS = 100
"""Points one reason may ask for, either way; what counts is cut by the caps later."""
LONGEST_TEXT = 2000
TIME_BUDGET = SECONDS
"""Seconds a plugin may take in all for one plan."""
SLOW = 2.0
"""Seconds from which a plugin is named as slow."""
CODE = re.compile(PLUGIN_CODE, re.ASCII)

_OPEN_KINDS = (ReasonKind.MODIFIER, ReasonKind.INFO, ReasonKind.CORROBORATES)


class RuleClock:
    """Adds up the time that each plugin takes over a whole plan."""

    def __init__(self, now: Callable[[], float] = perf_counter, budget: float = TIME_BUDGET) -> None:
        self.now = now
        self.budget = budget
        self.seconds: dict[str, float] = {}

    @contextmanager
    def watch(self, plugin: str) -> Iterator[None]:
        """Time the body and interrupt it at the end of the plugin's budget; raise `PluginError` when that is used up."""
        began = self.now()
        try:
            with time_limit(self.budget - self.seconds.get(plugin, 0.0)):
                yield
        except Overdue:
            raise self._overdue(plugin) from None
        self.add(plugin, self.now() - began)

    def add(self, plugin: str, seconds: float) -> None:
        """Count `seconds` for `plugin`; raise `PluginError` when it is over its budget."""
        total = self.seconds.get(plugin, 0.0) + seconds
        self.seconds[plugin] = total
        if total > self.budget:
            raise self._overdue(plugin)

    def _overdue(self, plugin: str) -> PluginError:
        return PluginError(
            f"plugin {plugin} took more than {self.budget:g} s for one plan",
            hint=f"upgrade it, or leave it out with plugins.block: [{plugin}]",
            code="plugin_slow",
        )

    def slow(self) -> tuple[str, ...]:
        """Return the plugins that took noticeable time, by name."""
        return tuple(sorted(name for name, seconds in self.seconds.items() if seconds > SLOW))


def is_end(error: BaseException) -> bool:
    """Whether what came out of a plugin ends the command: its time is over, or somebody pressed Ctrl-C."""
    return isinstance(error, Overdue) or is_ctrl_c(error)


class Fault(Exception):  # noqa: N818 - not an error of ours: a finding about somebody's rule
    """Why a rule's answer cannot be used."""


def run_guarded(
    record: ScoringRule,
    plugin: str,
    score: Callable[[ExportFacts, Any], Any],
    facts: ExportFacts,
    options: object,
    *,
    granted: Collection[str],
    clock: RuleClock,
) -> list[Reason]:
    """Return the checked reasons of one third-party rule, or its one RV890. `facts` is the plugin's own copy."""
    with clock.watch(plugin):
        try:
            answer = score(facts, options)
            reasons = _vet(answer, record, plugin, granted)
        except Fault as fault:
            reasons = [failure(plugin, record.name, str(fault))]
        except BaseException as error:
            if is_end(error):
                raise
            # Any other failure of a plugin is a finding, never a crash.
            reasons = [failure(plugin, record.name, f"raised {type(error).__name__}{place_of(error)}")]
    return reasons


def failure(plugin: str, rule: str, what: str, *, kind: str = "Rule", lost: str = "0 of its points are used") -> Reason:
    """Return the RV890 that stands for a rule, or what `kind` says, whose answer is not used."""
    return Reason(
        code="RV890",
        kind=ReasonKind.INFO,
        message=f"{kind} {rule} of plugin {plugin} {what}; {lost}.",
        family="plugin",
        provider=plugin,
        remedy=f"report it to the authors of {plugin}, or block it: plugins.block: [{plugin}]",
    )


def place_of(error: BaseException) -> str:
    """Return the file and line where it was raised, without directories, so that the text is the same on every machine."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    name = trace.tb_frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f" at {name}:{trace.tb_lineno}"


def _vet(answer: object, record: ScoringRule, plugin: str, granted: Collection[str]) -> list[Reason]:
    if type(answer) not in (list, tuple):
        raise Fault(f"returned {type(answer).__name__} instead of a list of reasons")
    assert isinstance(answer, list | tuple)  # noqa: S101 - for the type checker
    if len(answer) > MOST_REASONS:
        raise Fault(f"returned {len(answer)} reasons, at most {MOST_REASONS} are allowed")
    reasons = [vet_reason(item, record, plugin, granted) for item in answer]
    seen = {(reason.code, reason.dimension) for reason in reasons}
    if len(seen) != len(reasons):
        raise Fault("returned one code twice for the same dimension")
    return reasons


def vet_reason(item: object, record: ScoringRule | ReasonEmitter, plugin: str, granted: Collection[str] = ()) -> Reason:
    """Return a reason of `plugin` rebuilt field by field. Raises `Fault`."""
    if type(item) is not Reason:
        raise Fault(f"returned {type(item).__name__} where a Reason belongs")
    code = vet_text(item.code, "code")
    if code not in record.codes or not CODE.fullmatch(code):
        raise Fault(f"used code {code!r}, which is not one of its own (X-<vendor>-nnn, listed in its record)")
    kind = _member(item.kind, ReasonKind, "kind")
    dimension = None if item.dimension is None else _member(item.dimension, Dimension, "dimension")
    if kind not in _OPEN_KINDS and str(kind) not in granted:
        raise Fault(f"used kind {kind}, which the config does not grant")
    points = _whole(item.points, "points", MOST_POINTS)
    if kind is ReasonKind.BASE and (dimension is None or points < 0):
        raise Fault("gave a base without a dimension or below 0")
    if kind is ReasonKind.CLAMP:
        raise Fault("used kind clamp, which is core's own")
    if points and (kind not in (ReasonKind.MODIFIER, ReasonKind.BASE) or dimension is None):
        raise Fault(f"gave points to a reason of kind {kind} or without a dimension")
    scored = record.dimension if isinstance(record, ScoringRule) else None
    if points and scored not in (None, dimension):
        raise Fault(f"gave points on {dimension}, its record says that it scores {scored}")
    if type(item.evidence) not in (list, tuple):
        raise Fault("gave evidence that is not a tuple")
    return Reason(
        code=code,
        kind=kind,
        message=vet_text(item.message, "message"),
        dimension=dimension,
        family=vet_text(item.family, "family"),
        points=points,
        provider=plugin,
        rule_version=record.version if isinstance(record, ScoringRule) else 1,
        evidence=tuple(vet_evidence(evidence) for evidence in item.evidence),
        caveat=vet_text(item.caveat, "caveat"),
        remedy=vet_text(item.remedy, "remedy"),
        potential=max(0, _whole(item.potential, "potential", MOST_POINTS)),
    )


def vet_evidence(item: object) -> Evidence:
    """Return evidence rebuilt field by field. Raises `Fault`."""
    if type(item) is not Evidence:
        raise Fault(f"gave {type(item).__name__} where Evidence belongs")
    value = item.value
    if type(value) not in (type(None), bool, int, float, str) or (isinstance(value, float) and not isfinite(value)):
        raise Fault("gave evidence whose value is not a finite number, a text, a truth value or nothing")
    if isinstance(value, str):
        vet_text(value, "value of evidence")
    moment = item.observed_at
    if moment is not None and (type(moment) is not datetime or moment.tzinfo is None):
        raise Fault("gave evidence with a moment that has no time zone")
    return Evidence(
        signal=vet_text(item.signal, "signal"),
        value=value,
        unit=vet_text(item.unit, "unit"),
        source=vet_text(item.source, "source"),
        observed_at=moment,
        quality=max(0, _whole(item.quality, "quality", 100)),
    )


def vet_text(value: object, what: str) -> str:
    """Return plain, valid text of bounded length. Raises `Fault`."""
    if type(value) is not str and not (isinstance(value, str) and type(value).__str__ is str.__str__):
        raise Fault(f"gave a {what} that is not text")
    assert isinstance(value, str)  # noqa: S101 - for the type checker
    if len(value) > LONGEST_TEXT:
        raise Fault(f"gave a {what} of more than {LONGEST_TEXT} characters")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise Fault(f"gave a {what} that is not valid text")
    return str(value)


def _whole(value: object, what: str, limit: int) -> int:
    if type(value) is not int:
        raise Fault(f"gave {what} as {type(value).__name__}, whole numbers only")
    if not -limit <= value <= limit:
        raise Fault(f"asked for {what} out of range (at most {limit} either way)")
    return value


def _member(value: Any, kind: Any, what: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise Fault(f"gave an unknown {what}") from None


_PLAIN = (str, int, float, bool, type(None), datetime)
_atoms: set[type] = set(_PLAIN)
"""Types whose values cannot be changed; enums join as they are met."""
_slots: dict[type, tuple[tuple[str, Callable[[Any, Any], None]], ...]] = {}
"""The fields of a dataclass, each with what sets it in spite of frozen: a plan copies a few hundred per export."""


def copy_facts(value: Any) -> Any:
    """Return a deep copy of frozen facts whose mappings are read-only: writing to it fails or stays in the copy."""
    kind = type(value)
    if kind in _atoms:
        return value
    if kind is tuple:
        return tuple([copy_facts(item) for item in value]) if value else value
    slots = _slots.get(kind)
    if slots is not None:
        made = object.__new__(kind)
        for name, put in slots:
            item = getattr(value, name)
            put(made, item if type(item) in _atoms else copy_facts(item))
        return made
    if isinstance(value, _PLAIN):
        _atoms.add(kind)
        return value
    if isinstance(value, Mapping):
        return MappingProxyType({key: copy_facts(item) for key, item in value.items()})
    if isinstance(value, list):
        return [copy_facts(item) for item in value]
    if is_dataclass(value):
        _slots[kind] = tuple((field.name, _setter(kind, field.name)) for field in fields(value))
        return copy_facts(value)
    return value


def _setter(kind: type, name: str) -> Callable[[Any, Any], None]:
    slot = getattr(kind, name, None)
    if isinstance(slot, MemberDescriptorType):
        return slot.__set__
    return lambda made, item: object.__setattr__(made, name, item)
