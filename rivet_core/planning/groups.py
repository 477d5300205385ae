"""Source groups: who shares a capacity, and how much of it there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rivet_core.config import GroupConfig, SourceConfig
from rivet_core.facts import ExportSpec, GroupCapacity, ServerFacts


def group_of(spec: ExportSpec, source: SourceConfig, server: ServerFacts | None) -> str:
    """Return the group of an export: its own, its source's, or the implicit one of its host and port (SQLite: the file).

    A source that could not be asked and declares no group stands for itself.
    """
    implicit = server.address if server is not None and server.address else source.name
    return spec.source_group or source.source_group or implicit


def capacity_of(declared: GroupConfig | None, servers: Sequence[ServerFacts], workers: int) -> GroupCapacity:
    """Return the capacity of a group, with what the config leaves open assumed.

    `max_connections` = min(workers, half of the free connections seen), at least 1; `max_heavy` = 1.
    """
    connections = declared.max_connections if declared is not None else None
    heavy = declared.max_heavy if declared is not None else None
    if connections is None:
        free = [server.free_connections for server in servers if server.free_connections is not None]
        connections = max(1, min([workers, *(half // 2 for half in free)]))
        assumed = True
    else:
        assumed = heavy is None
    return GroupCapacity(max_connections=connections, max_heavy=heavy if heavy is not None else 1, assumed=assumed)


def hosts_in_two_groups(groups: Iterable[tuple[str, str]], servers: Mapping[str, ServerFacts]) -> list[str]:
    """Return a warning for each host that is read in different groups.

    `groups` are the source and the group of each export, `servers` maps source name to facts.
    """
    by_address: dict[str, set[str]] = {}
    for source, group in groups:
        if source in servers and servers[source].address:
            by_address.setdefault(servers[source].address, set()).add(group)
    return [
        f"{address} is in {len(names)} source groups ({', '.join(sorted(names))}): their capacities add up on one host"
        for address, names in sorted(by_address.items())
        if len(names) > 1
    ]
