"""Numbers in words for people: sizes, counts, spans, shares. The same value gives the same text on every platform."""

from __future__ import annotations

from datetime import datetime

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size_text(size: int) -> str:
    """Return `size` bytes with one decimal: `10.2 GiB`."""
    if size < 1024:
        return f"{size} B"
    place, unit = 0, 1
    while place < len(_BYTE_UNITS) - 1 and size >= unit * 1024:
        place, unit = place + 1, unit * 1024
    tenths = (size * 10 + unit // 2) // unit
    if tenths >= 10240 and place < len(_BYTE_UNITS) - 1:
        place, tenths = place + 1, 10
    return f"{tenths // 10}.{tenths % 10} {_BYTE_UNITS[place]}"


def count_text(count: int) -> str:
    """Return a count that is easy to read: exact below a million, then `83.5 million`, `1.2 billion`."""
    for unit, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if count >= unit:
            tenths = (count * 10 + unit // 2) // unit
            return f"{tenths // 10}.{tenths % 10} {word}"
    return f"{count:,}"


def rows_text(count: int) -> str:
    """Return a count of rows with its noun: `1 row`, `83.5 million rows`."""
    return f"{count_text(count)} {'row' if count == 1 else 'rows'}"


def span_text(seconds: float) -> str:
    """Return a span of time in its two largest units: `3 h 20 min`, `45 s`, `0.4 s`."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    whole = int(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 120:
        return f"{minutes} min"
    if hours < 48:
        rest = minutes % 60
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    rest = hours % 24
    return f"{days} d {rest} h" if rest and days < 14 else f"{days} d"


def share_text(part: int, whole: int) -> str:
    """Return `part` of `whole` in percent: `31 %`; `0 %` of nothing."""
    return f"{part * 100 // whole if whole > 0 else 0} %"


def fraction_text(part: float) -> str:
    """Return a fraction of 1 in percent with one decimal: `3.0 %`; never nothing for something."""
    return "less than 0.1 %" if 0 < part < 0.001 else f"{part * 100:.1f} %"


def factor_text(larger: int, smaller: int) -> str:
    """Return how many times `smaller` fits into `larger`, with one decimal: `3.4 x`."""
    tenths = larger * 10 // max(1, smaller)
    return f"{tenths // 10}.{tenths % 10} x"


def moment_text(moment: datetime) -> str:
    """Return a moment to the minute with its offset: `2027-01-05 06:00+00:00`."""
    return moment.isoformat(sep=" ", timespec="minutes")
