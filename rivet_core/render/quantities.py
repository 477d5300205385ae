"""Durations, sizes, counts and ages as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def seconds(value: float) -> str:
    """Return a duration in its two largest parts: `0.4 s`, `42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    if value < 9.95:
        return f"{value:.1f} s"
    whole = round(value)
    for size, name, below, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size} {name}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def span(low: float, high: float) -> str:
    """Return a range of durations, the unit said once where both share it."""
    first, second = seconds(low), seconds(high)
    if first == second:
        return first
    number, _, unit = first.partition(" ")
    return f"{number}-{second}" if unit == second.partition(" ")[2] else f"{first} - {second}"


def size(value: int) -> str:
    """Return bytes in binary units with one decimal: `512 B`, `10.2 GiB`."""
    amount = float(value)
    for unit in _BINARY:
        if abs(amount) < 1024 or unit == _BINARY[-1]:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError("unreachable")


def count(value: int) -> str:
    """Return a whole number with thin groups of three: `1,234,567`."""
    return f"{value:,}"


def age(then: datetime, now: datetime) -> str:
    """Return how long ago `then` was."""
    gap = now - then
    return "now" if gap < timedelta(seconds=1) else f"{seconds(gap.total_seconds())} ago"


def moment(value: datetime) -> str:
    """Return a UTC time to the minute."""
    return value.strftime("%Y-%m-%d %H:%M UTC")
