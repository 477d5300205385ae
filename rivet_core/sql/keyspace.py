"""Points between two keys: guesses where a key's space might be cut, for engines that keep no histogram.

A guess needs no row at it, and need not even lie between the two in the server's own order: whoever uses it asks the server
for the keys next to it. Good guesses only save questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal

from rivet_core.errors import ConfigError
from rivet_core.facts import TypeKind
from rivet_core.sql.marks import MICROS_PER_DAY, date_text, micros_near, timestamp_text

_UUID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\Z", re.IGNORECASE)
_LETTERS = 4
"""So many characters behind the common beginning of two texts are looked at."""
_BYTES = 8
_ASCII = "".join(map(chr, range(32, 127)))
_EXACT = Context(prec=100)


def between(kinds: Sequence[TypeKind], low: Sequence[str], high: Sequence[str], parts: int) -> list[tuple[str, ...]]:
    """Return at most `parts - 1` points between two keys, marks' texts; each may have fewer positions than the key.

    The first position in which the two differ is cut; where nothing lies between two neighbours, the point is the upper one.
    """
    place = next((i for i, (one, other) in enumerate(zip(low, high, strict=True)) if one != other), None)
    if place is None or parts < 2:
        return []
    head = tuple(low[:place])
    found = list(dict.fromkeys(values_between(kinds[place], low[place], high[place], parts)))
    return [(*head, value) for value in found if value != low[place]]


def values_between(kind: TypeKind, low: str, high: str, parts: int) -> list[str]:
    """Return at most `parts - 1` texts of values above `low` and up to `high`, about evenly spread."""
    if kind is TypeKind.INTEGER:
        return [str(value) for value in _steps(int(low), int(high), parts)]
    if kind is TypeKind.DECIMAL:
        return _decimals(Decimal(low), Decimal(high), parts)
    if kind is TypeKind.DATE:
        days = (micros_near(low) // MICROS_PER_DAY, micros_near(high) // MICROS_PER_DAY)
        return [date_text(day) for day in _steps(*days, parts)]
    if kind in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
        zoned = kind is TypeKind.TIMESTAMPTZ
        return [timestamp_text(micros, zoned=zoned) for micros in _steps(micros_near(low), micros_near(high), parts)]
    if kind is TypeKind.BYTES:
        return _bytes(bytes.fromhex(low.removeprefix("\\x")), bytes.fromhex(high.removeprefix("\\x")), parts)
    if kind in (TypeKind.TEXT, TypeKind.UUID):
        return _texts(low, high, parts)
    raise ConfigError(f"{kind} has no values in between", hint="cut along another key")


def _steps(low: int, high: int, parts: int) -> list[int]:
    """Return numbers from `low + 1` to `high`; none when `high` is not above `low`."""
    span = high - low
    return sorted({low + max(1, span * i // parts) for i in range(1, parts)}) if span > 0 else []


def _decimals(low: Decimal, high: Decimal, parts: int) -> list[str]:
    span = _EXACT.subtract(high, low)
    step = _EXACT.divide(span, Decimal(parts))
    return [format(_EXACT.add(low, _EXACT.multiply(step, Decimal(i))), "f") for i in range(1, parts)] if span > 0 else []


def _bytes(low: bytes, high: bytes, parts: int) -> list[str]:
    same = _common(low, high)
    ends = [int.from_bytes(one[same : same + _BYTES].ljust(_BYTES, b"\0"), "big") for one in (low, high)]
    return [f"\\x{(low[:same] + value.to_bytes(_BYTES, 'big')).hex()}" for value in _steps(ends[0], ends[1], parts)]


def _texts(low: str, high: str, parts: int) -> list[str]:
    if _UUID.match(low) and _UUID.match(high):
        return _uuids(low, high, parts)
    # Letters that the column has, and ASCII: others may not exist in its character set.
    letters = sorted({*_ASCII, *low, *high} - {"\0"})
    same = _common(low, high)
    found = _words(low, high, letters, parts)
    if not found:  # the server sorts the two in another way: look behind the first letter of each
        behind, before = low[: same + 1] + letters[-1] * _LETTERS, high[: same + 1]
        found = _words(low, behind, letters, parts // 2 + 1) + _words(before, high, letters, parts - parts // 2)
    return list(dict.fromkeys(found))[: parts - 1]


def _words(low: str, high: str, letters: Sequence[str], parts: int) -> list[str]:
    """Return texts between two, in the order of their letters; none where `high` is not above `low` in it."""
    same = _common(low, high)
    places = {letter: place for place, letter in enumerate(letters)}
    ends = [_number(one[same : same + _LETTERS], places) for one in (low, high)]
    return [value for step in _steps(ends[0], ends[1], parts) if (value := low[:same] + _word(step, letters))]


def _uuids(low: str, high: str, parts: int) -> list[str]:
    ends = [int(one.replace("-", ""), 16) for one in (low, high)]
    texts = [f"{value:032x}" for value in _steps(ends[0], ends[1], parts)]
    if "-" in low:
        texts = ["-".join((t[:8], t[8:12], t[12:16], t[16:20], t[20:])) for t in texts]
    return [t.upper() for t in texts] if low.upper() == low else texts


def _common(low: str | bytes, high: str | bytes) -> int:
    return next((i for i, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), min(len(low), len(high)))


def _number(text: str, places: Mapping[str, int]) -> int:
    value = 0
    for place in range(_LETTERS):
        value = value * len(places) + (places.get(text[place], 0) if place < len(text) else 0)
    return value


def _word(value: int, letters: Sequence[str]) -> str:
    found = []
    for _ in range(_LETTERS):
        value, place = divmod(value, len(letters))
        found.append(letters[place])
    return "".join(reversed(found)).rstrip(letters[0])
