"""One line of a benchmark's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`met` is `None` for rows that have no target: context, and what the Rust tool's rules make of the same campaigns."""

    target: str
    what: str
    figure: str
    wanted: str = ""
    met: bool | None = None


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value with at least `share` of the values at or below it."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered)) - 1))]


def at_most(target: str, what: str, value: float, limit: float) -> Row:
    """Return a row whose figure must not exceed a limit."""
    return Row(target, what, f"{value:.4f}", f"<= {limit}", value <= limit)


def spread(target: str, what: str, values: Sequence[float]) -> Row:
    """Return a row without a target: median, p95 and the greatest of the values."""
    figure = f"{quantile(values, 0.5):.3f} / {quantile(values, 0.95):.3f} / {max(values):.3f}"
    return Row(target, what, figure, "(median / p95 / max)")
