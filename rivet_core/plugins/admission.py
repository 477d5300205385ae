"""Decide whether a loaded plugin may take part: the right hooks, no arguments, sequences of the right records.

Everything here is checked before a single record is used, and every refusal names what is wrong in words.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pluggy

from rivet_core import hookspecs
from rivet_core.api import PLUGIN_CODE, ReasonEmitter, Record, ScoringRule
from rivet_core.hookspecs import HOOK_RECORDS, PROJECT
from rivet_core.plugins.fields import field_fault, settled

CORE = "core"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_THIRD_PARTY_CODE = re.compile(PLUGIN_CODE, re.ASCII)


class Refused(Exception):  # noqa: N818 - a verdict on a plugin, caught by the loader, not an error of ours
    """The plugin breaks a rule of admission; the text says which."""


def admit(plugin: object, name: str) -> dict[str, tuple[Record, ...]]:
    """Check `plugin` and call each of its hooks once; return its records by hook.

    Raises `Refused` when a rule is broken. Whatever a hook itself raises passes through.
    """
    implementations = _implementations(plugin)
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, name)
    except (pluggy.PluginValidationError, ValueError) as error:
        raise Refused(str(error)) from None
    return {hook: _records(hook, function(), name) for hook, function in sorted(implementations.items())}


def _implementations(plugin: object) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in dir(plugin):
        function: Any = getattr(plugin, attribute, None)
        options = getattr(function, f"{PROJECT}_impl", None)
        if not isinstance(options, dict):
            if attribute in HOOK_RECORDS and inspect.isroutine(function):
                raise Refused(f"{attribute} is not marked with hookimpl")
            continue
        hook = options.get("specname") or attribute
        if hook not in HOOK_RECORDS:
            near = difflib.get_close_matches(hook, HOOK_RECORDS, n=1)
            raise Refused(f"unknown hook {hook}" + (f", did you mean {near[0]}?" if near else ""))
        for order in ("wrapper", "hookwrapper", "tryfirst", "trylast"):
            if options.get(order):
                raise Refused(f"{hook} asks for {order}: hooks have no order and no wrappers")
        if inspect.signature(function).parameters:
            raise Refused(f"{hook} takes arguments: hooks take none")
        found[hook] = function
    if not found:
        raise Refused("it implements no hook")
    return found


def _records(hook: str, result: object, plugin: str) -> tuple[Record, ...]:
    wanted = HOOK_RECORDS[hook]
    if not isinstance(result, Sequence) or isinstance(result, str | bytes):
        raise Refused(f"{hook} returned {type(result).__name__}, not a sequence of {wanted.__name__}")
    for record in result:
        if not isinstance(record, wanted):
            raise Refused(f"{hook} returned a {type(record).__name__} where {wanted.__name__} is due")
        if not isinstance(record.name, str) or not _NAME.fullmatch(record.name):  # type: ignore[attr-defined]
            raise Refused(f"{hook}: {record.name!r} is not a usable name")  # type: ignore[attr-defined]
        if fault := field_fault(hook, record):  # type: ignore[arg-type]
            raise Refused(f"{hook}: {record.name}: {fault}")  # type: ignore[attr-defined]
        if isinstance(record, ScoringRule | ReasonEmitter) and plugin != CORE:
            _check_codes(record)
    names = Counter(record.name for record in result)
    twice = sorted(name for name, count in names.items() if count > 1)
    if twice:
        raise Refused(f"{hook} offers {twice[0]} twice")
    return tuple(sorted(map(settled, result), key=lambda record: str(record.name)))


def _check_codes(record: ScoringRule | ReasonEmitter) -> None:
    what = "rule" if isinstance(record, ScoringRule) else "emitter"
    for code in record.codes:
        if not isinstance(code, str) or not _THIRD_PARTY_CODE.fullmatch(code):
            raise Refused(f"{what} {record.name}: code {code!r} is not of the form X-<vendor>-nnn")
