"""Tiling a key: where a table is cut so that the pieces hold about equally many rows.

All arithmetic is on Python integers, so no bound overflows (unsigned 64-bit keys included). Cuts follow rows, not span:
from equi-depth bounds (a histogram) when there are any, else from the two ends of the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rivet_core.errors import ConfigError
from rivet_core.facts import Mark, Unit, UnitKind

MAX_UNITS = 2000
DEFAULT_CHUNK_ROWS = 1_000_000
SPARSE = 10
"""A key whose span is more than this many times its rows is sparse: equal widths would not hold equal rows."""


def unit_count(rows: int | None, chunk_size: int | None, chunk_count: int | None) -> int:
    """Return how many units to aim for: `chunk_count` as asked, else rows divided by the chunk size; at least 1."""
    if chunk_count is not None:
        return _bounded(chunk_count)
    size = chunk_size or DEFAULT_CHUNK_ROWS
    return _bounded(-(-(rows or 0) // size))


def _bounded(count: int) -> int:
    return max(1, min(count, MAX_UNITS))


def integer_cuts(*, low: int, high: int, units: int, rows: int | None = None, bounds: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the cuts, ascending and distinct: unit i holds `cut[i-1] < key <= cut[i]`, the last one what is above.

    `low` and `high` are the key's ends as far as known, `bounds` equi-depth histogram bounds. At most `units - 1` cuts, and
    never more units than integers from `low` to `high`, but a sparse key without a histogram may get up to three times
    `units`: cut evenly, and densely from both ends, since nothing says where between its ends the rows are.
    """
    if low > high:
        raise ConfigError(
            f"the key's lower end {low} is above its upper end {high}", hint="refresh the statistics of the table"
        )
    if units <= 1 or low == high:
        return ()
    known = sorted({bound for bound in bounds if low <= bound <= high} | {low, high}) if bounds else []
    if len(known) > 2:
        return _from_bounds(list(bounds), low, high, units)
    even = _even(low, high, units)
    if rows is None or high - low + 1 <= rows * SPARSE:
        return tuple(even)
    step = max(1, -(-rows // units))
    dense = [low - 1 + step * i for i in range(1, units)] + [high - step * i for i in range(1, units)]
    cuts = sorted({cut for cut in (*even, *dense) if low <= cut < high})
    return tuple(cuts[: MAX_UNITS - 1])


def _even(low: int, high: int, units: int) -> list[int]:
    span = high - low + 1
    count = min(units, span)
    # Integer arithmetic: low - 1 + span * i / count never leaves [low, high) and never repeats, since span >= count.
    return [low - 1 + span * i // count for i in range(1, count)]


def _from_bounds(bounds: list[int], low: int, high: int, units: int) -> tuple[int, ...]:
    edges = sorted(bound for bound in bounds if low <= bound <= high)
    edges = [min(low, edges[0]), *edges[1:-1], max(high, edges[-1])]
    buckets = len(edges) - 1
    cuts = set()
    for i in range(1, units):
        bucket, rest = divmod(i * buckets, units)
        left, right = edges[bucket], edges[min(bucket + 1, buckets)]
        cuts.add(left + (right - left) * rest // units)
    return tuple(sorted(cut for cut in cuts if low <= cut < high))


def value_cuts(bounds: Sequence[str], units: int) -> tuple[str, ...]:
    """Return at most `units - 1` of the ordered distinct `bounds` (the server's own order), about evenly spread.

    The last bound is never a cut: it is the end, and above it lies the last unit anyway.
    """
    inner = list(dict.fromkeys(bounds))[1:-1]
    wanted = min(units - 1, len(inner))
    if wanted <= 0:
        return ()
    return tuple(inner[i * (len(inner) + 1) // (wanted + 1) - 1] for i in range(1, wanted + 1))


def tile(
    column: str, source_type: str, cuts: Sequence[str], *, rows: int | None = None, nullable: bool = False, relation: str = ""
) -> tuple[Unit, ...]:
    """Return the units between ordered `cuts` of one column: the first open below, the last above, and the NULL keys.

    One unit over everything when there is no cut. `rows` is the estimate for the whole, spread evenly.
    """
    if not cuts:
        return (Unit(index=0, kind=UnitKind.WHOLE, rows=rows, relation=relation),)
    marks = [Mark(column=column, type=source_type, value=str(cut)) for cut in cuts]
    share = None if rows is None else rows // (len(cuts) + 1)
    units = [
        Unit(
            index=index,
            kind=UnitKind.RANGE,
            columns=(column,),
            lower=(lower,) if lower else (),
            upper=(upper,) if upper else (),
            relation=relation,
            rows=share,
        )
        for index, (lower, upper) in enumerate(zip([None, *marks], [*marks, None], strict=True))
    ]
    if nullable:
        units.append(Unit(index=len(units), kind=UnitKind.NULLS, columns=(column,), relation=relation))
    return tuple(units)


def tile_keys(columns: Sequence[str], bounds: Sequence[tuple[Mark, ...]], rows: int | None = None) -> tuple[Unit, ...]:
    """Return the units between ordered `bounds` of a key of several columns; each bound belongs to the unit below it.

    One unit over everything when there is no bound. `rows` is the estimate for one unit.
    """
    if not bounds:
        return (Unit(index=0, kind=UnitKind.WHOLE),)
    edges: list[tuple[Mark, ...]] = [(), *bounds, ()]
    return tuple(
        Unit(index=index, kind=UnitKind.RANGE, columns=tuple(columns), lower=lower, upper=upper, rows=rows)
        for index, (lower, upper) in enumerate(pairwise(edges))
    )
