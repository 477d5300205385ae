"""Shares: the units of one export as schedule entries of their own, each with one connection, all for one dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from rivet_core.facts import Job

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitIn:
    """How an export is split: its `units` over so many `shares`."""

    units: int
    shares: int


def share_out(units: Sequence[T], shares: int) -> tuple[tuple[T, ...], ...]:
    """Return `units` in so many runs of neighbours, as even as they go and never an empty one; all of them, each once."""
    count = max(1, min(shares, len(units)))
    even, more = divmod(len(units), count)
    ends = [place * even + min(place, more) for place in range(count + 1)]
    return tuple(tuple(units[start:end]) for start, end in pairwise(ends))


def share_names(export: str, shares: int) -> tuple[str, ...]:
    """Return the names of an export's shares, `orders/1` and so on: no export can be called so."""
    return tuple(f"{export}/{number}" for number in range(1, shares + 1))


def share_number(job: Job) -> int:
    """Return which of its export's shares `job` is, from 1."""
    return int(job.name.removeprefix(f"{job.share_of}/"))


def with_shares(jobs: Sequence[Job], splits: Mapping[str, SplitIn]) -> tuple[Job, ...]:
    """Return `jobs` with each one in `splits` replaced by its shares; what depends on it waits for all of them.

    A share takes one connection, and of the time that the export would take over one connection as much as of its units.
    """
    found = {name: share_names(name, min(split.shares, split.units)) for name, split in splits.items() if split.shares > 1}
    found = {name: names for name, names in found.items() if len(names) > 1}
    if not found:
        return tuple(jobs)
    shared: list[Job] = []
    for job in jobs:
        if not found.keys().isdisjoint(job.depends_on):
            job = replace(job, depends_on=tuple(one for name in job.depends_on for one in found.get(name, (name,))))
        shared += _shares(job, found[job.name], splits[job.name].units) if job.name in found else [job]
    return tuple(shared)


def _shares(job: Job, names: Sequence[str], units: int) -> list[Job]:
    sizes = [len(share) for share in share_out(range(units), len(names))]
    parts = [job.connections * size / units for size in sizes]
    return [
        replace(
            job,
            name=name,
            share_of=job.name,
            shares=len(names),
            connections=1,
            predicted_seconds=job.predicted_seconds * part,
            p90_seconds=None if job.p90_seconds is None else job.p90_seconds * part,
        )
        for name, part in zip(names, parts, strict=True)
    ]
