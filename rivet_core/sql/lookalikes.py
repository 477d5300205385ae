"""Names that a reader, or a file system, may take for one: equal but for case or for letters that look alike."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

_LATIN = str.maketrans("авеёкмнорстухіјѕԁԛԝαεικνορτυχ", "abeekmhopctyxijsdqwaeiknoptux")
"""Cyrillic and Greek small letters, and the Latin ones they are drawn like."""


def lookalikes(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of names that differ only by case, width, accents' encoding or letters drawn alike."""
    names = list(names)
    if all(name.isascii() for name in names) and len({name.lower() for name in names}) == len(names):
        return []
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[unicodedata.normalize("NFKC", name).casefold().translate(_LATIN)].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def describe(group: Iterable[str]) -> str:
    """Return the names of a group with the code points that tell them apart."""
    return ", ".join(f"{name!r} ({' '.join(f'U+{ord(char):04X}' for char in name[:8])})" for name in group)
