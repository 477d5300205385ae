"""How many of what, in words."""

from __future__ import annotations


def several(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `1,234 files`, `0 retries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("try") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
