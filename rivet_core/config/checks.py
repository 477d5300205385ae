"""Checks over all exports together: names, output places, dependencies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rivet_core.config.document import Document
from rivet_core.config.model import RootModel
from rivet_core.config.places import output_places
from rivet_core.config.sections import suggest
from rivet_core.facts import ExportSpec


def check_names(document: Document, root: RootModel) -> None:
    """Raise `ConfigError` for two exports of one name, with both lines."""
    seen: dict[str, int] = {}
    for index, export in enumerate(root.exports):
        first = seen.setdefault(export.name, index)
        if first != index:
            _, line = document.find(("exports", first, "name"))
            raise document.error(
                ("exports", index, "name"),
                f"two exports are named {export.name} (the first on line {line})",
                hint="rename one of them",
            )


def check_places(document: Document, exports: tuple[ExportSpec, ...], base: Path) -> None:
    """Raise `ConfigError` for two exports that would write to one directory, naming both."""
    seen: dict[str, int] = {}
    for index, spec in enumerate(exports):
        for place in output_places(spec, base):
            first = seen.setdefault(place, index)
            if first != index:
                _, line = document.find(("exports", first, "name"))
                raise document.error(
                    ("exports", index, "name"),
                    f"exports {exports[first].name} (line {line}) and {spec.name} write to the same place",
                    hint="rename one of them, or give one a destination of its own",
                )


def check_dependencies(document: Document, exports: tuple[ExportSpec, ...]) -> None:
    """Raise `ConfigError` for an unknown dependency, one in a later wave, or a cycle."""
    by_name = {spec.name: index for index, spec in enumerate(exports)}
    for index, spec in enumerate(exports):
        for name in spec.depends_on:
            where = ("exports", index, "depends_on")
            if name not in by_name:
                raise document.error(where, f"there is no export named {name}", hint=suggest(name, by_name, what="exports"))
            wave = exports[by_name[name]].wave
            if spec.wave is not None and wave is not None and wave > spec.wave:
                raise document.error(
                    where,
                    f"{spec.name} is in wave {spec.wave} and depends on {name} in wave {wave}",
                    hint="give it the same or a later wave",
                )
    cycle = _find_cycle(exports, by_name)
    if cycle:
        raise document.error(
            ("exports", by_name[cycle[0]], "depends_on"),
            f"exports wait for each other: {' -> '.join([*cycle, cycle[0]])}",
            hint="remove one of the dependencies",
        )


def _find_cycle(exports: tuple[ExportSpec, ...], by_name: Mapping[str, int]) -> list[str]:
    """Return the names of one cycle of dependencies, each waiting for the next, or nothing."""
    waiting = {spec.name: len(spec.depends_on) for spec in exports}
    dependants: dict[str, list[str]] = {}
    for spec in exports:
        for name in spec.depends_on:
            dependants.setdefault(name, []).append(spec.name)
    free = [name for name, count in waiting.items() if not count]
    while free:
        name = free.pop()
        del waiting[name]
        for dependant in dependants.get(name, ()):
            waiting[dependant] -= 1
            if not waiting[dependant]:
                free.append(dependant)
    if not waiting:
        return []
    # Everything left waits for something left, so following any of it must come round.
    name, seen = next(iter(waiting)), dict[str, int]()
    while name not in seen:
        seen[name] = len(seen)
        name = next(other for other in exports[by_name[name]].depends_on if other in waiting)
    return [other for other, position in seen.items() if position >= seen[name]]
