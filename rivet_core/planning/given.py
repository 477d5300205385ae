"""What a source's plugin gave, held to the types of facts: what is none of these is that plugin's fault, not the plan's end.

Checks are made once for each class. Those of a whole catalog still cost a tenth of a millisecond a table, so the sources that
come with Rivet, which its own tests hold to their types, are taken as they are.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from math import isfinite
from typing import Any, Union, get_args, get_origin, get_type_hints

from rivet_core.errors import SourceError
from rivet_core.facts import CatalogFacts, Evidence, Unit
from rivet_core.plugins.registry import PUBLISHED

Check = Callable[[Any], bool]
LARGEST = 1 << 63
"""Whole numbers stay below it: no count or size of a database is as large."""


OURS = frozenset({"rivet-core", *PUBLISHED.values()})
"""Distributions whose sources are not checked."""


def checked_catalog(catalog: object, kind: str) -> CatalogFacts:
    """Return the facts of a source of type `kind`. Raises `SourceError` naming the first field that holds something else."""
    if not isinstance(catalog, CatalogFacts):
        raise _fault(kind, f"{type(catalog).__name__} where CatalogFacts belong")
    if not _check_of(CatalogFacts)(catalog):
        raise _fault(kind, _wrong(catalog, "facts"))
    return catalog


def checked_units(units: object, kind: str) -> tuple[Unit, ...]:
    """Return the units of one export as a tuple. Raises `SourceError` for anything else, none at all, and a wrong number."""
    if not isinstance(units, list | tuple) or not units or not all(isinstance(unit, Unit) for unit in units):
        given = f"{type(units).__name__}" if not isinstance(units, list | tuple) else "none" if not units else "something else"
        raise _fault(kind, f"{given} where units belong")
    for place, unit in enumerate(units):
        if not _check_of(Unit)(unit):
            raise _fault(kind, _wrong(unit, f"unit {place}"))
        if unit.index != place:
            raise _fault(kind, f"the index {unit.index} to unit {place}")
    return tuple(units)


def _fault(kind: str, what: str) -> SourceError:
    return SourceError(
        f"the plugin of source type {kind} failed: it gave {what}",
        hint="this is a fault of the plugin: report it to its authors",
    )


def _wrong(value: Any, place: str) -> str:
    """Return where in a record the first wrong field is, and what it holds."""
    owner: Any = type(value)
    for name, check in _fields_of(owner):
        given = getattr(value, name)
        if check(given):
            continue
        if is_dataclass(given) and not isinstance(given, type):
            return _wrong(given, f"{place}.{name}")
        items = given.items() if isinstance(given, Mapping) else enumerate(given) if isinstance(given, tuple) else ()
        for key, item in items:
            kind: Any = type(item)
            if is_dataclass(item) and not _check_of(kind)(item):
                return _wrong(item, f"{place}.{name}[{key}]")
        shown = f"{given!r:.40}" if isinstance(given, int | float | str | type(None)) else type(given).__name__
        return f"{shown} as {place}.{name}"
    return f"a {owner.__name__} as {place}"


@cache
def _fields_of(kind: Any) -> tuple[tuple[str, Check], ...]:
    hints = get_type_hints(kind)
    found = {field.name: _check_of(hints[field.name]) for field in fields(kind)}
    return tuple({**found, "quality": _is_quality}.items() if kind is Evidence else found.items())


@cache
def _check_of(hint: Any) -> Check:
    """Return the check of one annotation of the facts."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        checks = [_check_of(one) for one in inner]
        return lambda value: any(check(value) for check in checks)
    if origin is tuple:
        item = _check_of(inner[0])
        return lambda value: type(value) is tuple and all(map(item, value))
    if isinstance(origin, type) and issubclass(origin, Mapping | Sequence):
        each = _check_of(inner[1])
        return lambda value: isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(each, value.values()))
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda value: type(value) is hint
    if is_dataclass(hint):
        return _record(hint)
    return lambda value: isinstance(value, hint)


def _record(kind: Any) -> Check:
    def check(value: Any) -> bool:
        return isinstance(value, kind) and all(right(getattr(value, name)) for name, right in _fields_of(kind))

    return check


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and type(value) is not bool and -LARGEST < value < LARGEST


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and isfinite(value))


def _is_moment(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _is_quality(value: object) -> bool:
    return _is_whole(value) and 0 <= value <= 100  # type: ignore[operator]


_PLAIN: dict[Any, Check] = {
    str: _is_text,
    int: _is_whole,
    float: _is_number,
    bool: lambda value: type(value) is bool,
    datetime: _is_moment,
    type(None): lambda value: value is None,
}
