"""Whether a unit's bounds go up, for the types whose order this side knows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rivet_core.errors import ConfigError
from rivet_core.facts import Mark, TypeKind
from rivet_core.sql.marks import order_key

_SIZE = r"(?: ?\([\d, ]+\))?"
_KINDS = (
    (re.compile(rf"(?:(?:tiny|small|medium|big)?int(?:eger)?|int[248]){_SIZE}(?: unsigned)?(?: zerofill)?"), TypeKind.INTEGER),
    (re.compile(rf"(?:numeric|decimal){_SIZE}(?: unsigned)?"), TypeKind.DECIMAL),
    (re.compile(rf"(?:real|float[48]?|double(?: precision)?){_SIZE}(?: unsigned)?"), TypeKind.FLOAT),
    (re.compile("date"), TypeKind.DATE),
    (re.compile(rf"(?:timestamp|datetime){_SIZE}(?: without time zone)?"), TypeKind.TIMESTAMP),
    (re.compile(rf"(?:timestamptz{_SIZE}|timestamp{_SIZE} with time zone)"), TypeKind.TIMESTAMPTZ),
)
"""Spellings of types that every engine sorts alike. The order of texts, uuids, enums and own types is the server's."""
_MOMENTS = (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)


def goes_up(lower: Sequence[Mark], upper: Sequence[Mark]) -> bool | None:
    """Compare two bounds column by column: whether `lower` stands strictly before `upper`, `None` when that is not known."""
    known = True
    for low, high in zip(lower, upper, strict=False):
        kind = _kind(low.type) if low.type == high.type else None
        if low.value == high.value:
            known = known and kind is not None
            continue
        return None if kind is None else _before(low.value, high.value, kind)
    return False if known and len(lower) == len(upper) else None


def _before(low: str, high: str, kind: TypeKind) -> bool | None:
    if kind in _MOMENTS and "T" in low + high:
        return None  # Not our spelling: SQLite orders such text as text.
    try:
        left, right = order_key(low, kind), order_key(high, kind)
        return None if left == right else bool(left < right)
    except (ConfigError, ValueError, ArithmeticError):
        return None


def _kind(source_type: str) -> TypeKind | None:
    text = source_type.strip().lower()
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(text)), None)
