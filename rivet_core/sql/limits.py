"""Connections: a server has a limit, and so may the account and the database. The one with the least room counts."""

from __future__ import annotations

from collections.abc import Iterable


def tightest(limits: Iterable[tuple[int | None, int | None]]) -> tuple[int | None, int | None]:
    """Return the `(limit, used)` that leaves the fewest connections free; without any known one, the first.

    A limit of `None` is none; where nobody tells how many are used, nothing is known of the room.
    """
    found = list(limits)
    known = [(limit - used, limit, used) for limit, used in found if limit is not None and used is not None]
    return min(known)[1:] if known else found[0]
