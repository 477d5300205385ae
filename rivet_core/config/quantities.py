"""Spans of time, sizes and times of day as people write them in a config."""

from __future__ import annotations

import re
from datetime import date, time

_SPAN = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+\Z")
_SPAN_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(?:i?[bB])?\Z")
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_DEADLINE = re.compile(r"(\d\d):(\d\d)(Z|[+-]\d\d:\d\d)?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)

MAX_SPAN = 36_500 * 86_400
"""A hundred years: what calendars, clocks and servers take."""

MAX_SIZE = 1 << 60
"""An exbibyte: larger than any disk, and a number that every format holds."""

SPAN_WORDS = "a span of time such as 90s, 10m, 1h or 2d, or a number of seconds"
SIZE_WORDS = "a size such as 256MB or 1GB (1 MB is 1024 x 1024 bytes), or a number of bytes"
DEADLINE_WORDS = 'a time of day such as "06:00" (UTC) or "06:00+02:00"'
DATE_WORDS = "a date such as 2027-01-31"


def read_span(value: object) -> float:
    """Return seconds. Raises `ValueError` saying what was expected."""
    found: float = -1
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = value
    elif isinstance(value, str) and _SPAN.match(value):
        found = sum(float(number) * _SECONDS[unit] for number, unit in _SPAN_PART.findall(value))
    if found > MAX_SPAN:
        raise ValueError("must be at most 36500d")
    if not found >= 0:
        raise ValueError(f"must be {SPAN_WORDS}")
    return float(found)


def read_size(value: object) -> int:
    """Return bytes, at least 1. Units count in 1024s, with or without an `i`. Raises `ValueError`."""
    size: float = 0
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str) and (match := _SIZE.match(value.strip())):
        size = float(match[1]) * _FACTORS[match[2].lower()]
    if size > MAX_SIZE:
        raise ValueError(f"must be at most {MAX_SIZE >> 40}TB")
    if size < 1:
        raise ValueError(f"must be {SIZE_WORDS}")
    return int(size)


def read_deadline(value: object) -> str:
    """Return `HH:MM` with its offset as written (`Z` becomes `+00:00`). Raises `ValueError`."""
    if isinstance(value, str) and (match := _DEADLINE.match(value)):
        offset = "+00:00" if match[3] == "Z" else match[3] or ""
        try:
            time.fromisoformat(f"{match[1]}:{match[2]}{offset}")
        except ValueError:
            pass
        else:
            return f"{match[1]}:{match[2]}{offset}"
    raise ValueError(f"must be {DEADLINE_WORDS}")


def read_date(value: object) -> date:
    """Return a calendar day. Raises `ValueError`."""
    if isinstance(value, str) and _DATE.match(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise ValueError(f"must be {DATE_WORDS}")
