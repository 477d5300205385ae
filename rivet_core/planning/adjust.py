"""What the config changes about reasons: points per code, and reasons muted for one export until a date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Protocol

from rivet_core.facts import Reason, ReasonKind


class Suppression(Protocol):
    """One entry of `planning.suppress`, as the config room builds it."""

    @property
    def export(self) -> str:
        """Name of the export."""
        ...

    @property
    def code(self) -> str:
        """Code of the muted reason."""
        ...

    @property
    def reason(self) -> str:
        """Why it does not apply."""
        ...

    @property
    def until(self) -> date | None:
        """Last day on which it is muted, `None` for no end."""
        ...


_WEIGHTED = (ReasonKind.BASE, ReasonKind.MODIFIER)


def adjust(
    reasons: Sequence[Reason],
    *,
    export: str,
    as_of: datetime,
    overrides: Mapping[str, int | None],
    suppressions: Sequence[Suppression],
) -> list[Reason]:
    """Return `reasons` with overridden points and suppressions applied; nothing is ever removed.

    An override of `None` (off) leaves 0 points. Only base and modifier reasons carry points. A
    suppression holds through its `until` day; an expired one does nothing.
    """
    if not overrides and not suppressions:
        return list(reasons)
    active = {
        entry.code: entry
        for entry in sorted(suppressions, key=lambda entry: (entry.until or date.max, entry.reason))
        if entry.export == export and (entry.until is None or as_of.date() <= entry.until)
    }
    adjusted = []
    for reason in reasons:
        muted = active.get(reason.code)
        if muted is not None:
            until = "" if muted.until is None else muted.until.isoformat()
            reason = replace(reason, points=0, potential=0, suppressed=(muted.reason, until))
        elif reason.code in overrides and reason.kind in _WEIGHTED:
            points = overrides[reason.code] or 0
            potential = abs(points) if reason.potential == abs(reason.points) else min(reason.potential, abs(points))
            reason = replace(reason, points=points, potential=potential)
        adjusted.append(reason)
    return adjusted
