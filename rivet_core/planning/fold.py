"""The fixed tree of sums and clamps that turns reasons into scores (scoring section 3).

```
family_d = clamp(sum of its core points, lo, hi)           core_d    = clamp(base_d + sum of families, 0, 100)
plugin_p = clamp(sum of its points, -10, 10)               plugins_d = clamp(sum of plugin_p, -20, 20)
score_d  = clamp(core_d + plugins_d, 0, 100)
```
Whatever a clamp cuts off is a reason of kind `clamp` with signed points, so the plain sum of a dimension's points is its
score. Sums commute and every output is sorted, so the order of rules and reasons cannot matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rivet_core.facts import Dimension, Reason, ReasonKind
from rivet_core.planning.taxonomy import CAPS, CORE, PLUGINS_CAP, PROVIDER_CAP

DIMENSIONS = tuple(Dimension)
CLAMP_CODE = "RV891"


@dataclass(frozen=True, slots=True)
class Scores:
    """The three scores, 0..100 each."""

    cost: int
    risk: int
    value: int

    def as_dict(self) -> dict[str, int]:
        """Return the `scores` object of the plan."""
        return {"cost": self.cost, "risk": self.risk, "value": self.value}


@dataclass(frozen=True, slots=True)
class _Cut:
    """What one clamp cut off: signed points, the cap, and whose sum it was."""

    dimension: Dimension
    family: str
    provider: str
    asked: int
    used: int


def fold(reasons: Iterable[Reason]) -> tuple[Scores, tuple[Reason, ...]]:
    """Return the scores and all reasons in canonical order, clamp reasons added. Clamp reasons given are ignored."""
    kept = [reason for reason in reasons if reason.kind is not ReasonKind.CLAMP]
    scores, cuts = _fold_points(
        [
            (reason.dimension, reason.kind is ReasonKind.BASE, reason.family, reason.provider, reason.points)
            for reason in kept
            if reason.points and reason.dimension is not None
        ]
    )
    kept.extend(_clamp_reason(cut) for cut in cuts)
    kept.sort(key=order_key)
    return scores, tuple(kept)


def recompute(reasons: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the scores from the reasons of a plan file alone, by the tree, its own clamp reasons left aside (law L6)."""
    scores, _ = _fold_points(
        (
            Dimension(reason["dimension"]),
            reason["kind"] == "base",
            reason.get("family", ""),
            reason.get("provider", CORE),
            int(reason["points"]),
        )
        for reason in reasons
        if reason["kind"] != "clamp" and reason["points"] and reason["dimension"] is not None
    )
    return scores.as_dict()


def order_key(reason: Reason) -> tuple[int, int, str, str, str, str]:
    """The canonical order of reasons: dimension, part in the fold, code, provider, family, text."""
    place = len(DIMENSIONS) if reason.dimension is None else _PLACE[reason.dimension]
    return (place, _KIND_PLACE[reason.kind], reason.code, reason.provider, reason.family, reason.message)


_PLACE = {dimension: place for place, dimension in enumerate(DIMENSIONS)}
_KIND_PLACE = {kind: place for place, kind in enumerate(ReasonKind)}

_Point = tuple[Dimension, bool, str, str, int]


def _fold_points(points: Iterable[_Point]) -> tuple[Scores, list[_Cut]]:
    core = dict.fromkeys(DIMENSIONS, 0)
    families: dict[tuple[Dimension, str], int] = {}
    providers: dict[tuple[Dimension, str], int] = {}
    for dimension, is_base, family, provider, worth in points:
        if is_base:
            core[dimension] += worth
        elif provider == CORE:
            families[dimension, family] = families.get((dimension, family), 0) + worth
        else:
            providers[dimension, provider] = providers.get((dimension, provider), 0) + worth
    cuts: list[_Cut] = []

    def clamp(dimension: Dimension, family: str, provider: str, asked: int, bounds: tuple[int, int]) -> int:
        low, high = bounds
        if low <= asked <= high:
            return asked
        used = low if asked < low else high
        cuts.append(_Cut(dimension, family, provider, asked, used))
        return used

    for (dimension, family), asked in families.items():
        bounds = CAPS.get((dimension, family), (-PROVIDER_CAP, PROVIDER_CAP))
        core[dimension] += clamp(dimension, family, CORE, asked, bounds)
    plugins = dict.fromkeys(DIMENSIONS, 0)
    for (dimension, provider), asked in providers.items():
        plugins[dimension] += clamp(dimension, "plugin", provider, asked, (-PROVIDER_CAP, PROVIDER_CAP))
    final: list[int] = []
    for dimension in DIMENSIONS:
        own = clamp(dimension, "core", CORE, core[dimension], (0, 100))
        theirs = clamp(dimension, "plugins", CORE, plugins[dimension], (-PLUGINS_CAP, PLUGINS_CAP)) if providers else 0
        final.append(clamp(dimension, "score", CORE, own + theirs, (0, 100)))
    return Scores(*final), cuts


_WHOSE = {"core": "all core reasons", "plugins": "all plugins together", "score": "the score"}


def _clamp_reason(cut: _Cut) -> Reason:
    whose = f"plugin {cut.provider}" if cut.family == "plugin" else _WHOSE.get(cut.family, f"family {cut.family}")
    return Reason(
        code=CLAMP_CODE,
        kind=ReasonKind.CLAMP,
        message=f"Cap on {whose}: {cut.used:+d} of {cut.asked:+d} points of {cut.dimension} used.",
        dimension=cut.dimension,
        family=cut.family,
        points=cut.used - cut.asked,
        provider=cut.provider,
    )


def top_reasons(reasons: Sequence[Reason], count: int = 3) -> tuple[Reason, ...]:
    """Return the `count` reasons with the most points either way, for the table; clamps and bases of 0 left out."""
    telling = [reason for reason in reasons if reason.points and reason.kind is not ReasonKind.CLAMP]
    return tuple(sorted(telling, key=lambda reason: (-abs(reason.points), order_key(reason)))[:count])
