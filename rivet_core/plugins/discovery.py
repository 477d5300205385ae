"""Find the entry points of plugins, of this API version and of others, without importing any of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from rivet_core.hookspecs import ENTRY_POINT_GROUP

_GROUP = re.compile(r"rivet\.v(\d+)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry point that wants to be a plugin. `api` is the number in its group's name."""

    name: str
    dist: str
    version: str
    api: int
    entry_point: EntryPoint

    @property
    def current(self) -> bool:
        """Whether it was written for the API of this core."""
        return self.entry_point.group == ENTRY_POINT_GROUP


def discover() -> list[Candidate]:
    """Return every candidate, sorted by name and distribution, so that installation order cannot matter."""
    found = []
    for group in sorted(entry_points().groups):
        match = _GROUP.fullmatch(group)
        for entry_point in entry_points(group=group) if match else ():
            dist = entry_point.dist
            found.append(
                Candidate(
                    name=entry_point.name,
                    dist=dist.name if dist else "unknown",
                    version=dist.version if dist else "0",
                    api=int(group.removeprefix("rivet.v")),
                    entry_point=entry_point,
                )
            )
    return sorted(found, key=lambda candidate: (candidate.name, candidate.dist, candidate.api))
