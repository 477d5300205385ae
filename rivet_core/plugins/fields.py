"""What stands in a record, field by field: what is wrong there is said at admission, not when a plan is half made of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from rivet_core.api import Record
from rivet_core.facts import Dimension

RESERVED = {"rivet_renderers": ("json", "table"), "rivet_scheduling_policies": ("auto",)}
"""Names that mean something of core's own where the record's name is asked for."""
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_REFERENCES = ("options", "connect", "classify", "score", "emit", "open", "order", "next", "front", "render")
_LARGEST_VERSION = 1 << 31


def field_fault(hook: str, record: Record) -> str:
    """Return what is wrong with a record of `hook`, empty for nothing."""
    if record.name in RESERVED.get(hook, ()):
        return f"{record.name} is a name of core's own"
    for field in fields(record):
        value = getattr(record, field.name)
        if value is None and field.default is None:
            continue
        if field.name in _REFERENCES:
            if not callable(value) and not (isinstance(value, str) and _REFERENCE.fullmatch(value)):
                return f'{field.name} is {_shown(value)}, neither a function or class nor "module:name"'
        elif (check := _CHECKS.get(field.name)) is not None and not check[1](value):
            return f"{field.name} is {_shown(value)}, not {check[0]}"
    return ""


def settled(record: Record) -> Record:
    """Return the record with lists as tuples: what is admitted stays as it is."""
    lists: dict[str, Any] = {
        field.name: tuple(getattr(record, field.name)) for field in fields(record) if field.name in _SEQUENCES
    }
    return replace(record, **lists) if lists else record


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _is_version(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST_VERSION


_SEQUENCES = ("codes", "schemes")
_CHECKS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "summary": ("text", _is_text),
    "media_type": ("text", _is_text),
    "codes": ("a tuple of texts", _are_texts),
    "schemes": ("a tuple of texts", _are_texts),
    "dimension": (f"one of {', '.join(Dimension)}", lambda value: _is_text(value) and value in tuple(Dimension)),
    "version": ("a whole number from 1 on", _is_version),
    "waves": ("true or false", lambda value: isinstance(value, bool)),
}


def _shown(value: object) -> str:
    return f"{value!r:.60}" if isinstance(value, str | int | float) else type(value).__name__
