"""Cursors, units and parts to JSON columns and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rivet_core.facts import Json, Mark, Unit


def marks_to_json(marks: Iterable[Mark] | None) -> list[Json] | None:
    """Return the marks as JSON, `None` for none known."""
    return None if marks is None else [mark.to_json() for mark in marks]


def marks_from_json(data: Any) -> tuple[Mark, ...]:
    """Read what `marks_to_json` wrote; nothing is the empty tuple."""
    return tuple(Mark.from_json(mark) for mark in data or ())


def units_from_json(data: Any) -> tuple[Unit, ...]:
    """Read the units of a run."""
    return tuple(Unit.from_json(unit) for unit in data or ())
