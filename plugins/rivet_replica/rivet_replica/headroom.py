"""X-replica-004: the export would leave the server's other users fewer connections than they should have."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.facts import ExportFacts, Reason
from rivet_replica.options import ReplicaOptions
from rivet_replica.signals import live, risk


def score(facts: ExportFacts, options: ReplicaOptions) -> Sequence[Reason]:
    """Return the reason when less than `headroom` of the connections would stay free."""
    server = facts.server
    free, most = server.free_connections, server.max_connections
    if free is None or not most:
        return ()
    needed = min(facts.spec.parallel, facts.max_connections or facts.spec.parallel)
    left = free - needed
    if left >= options.headroom * most:
        return ()
    return risk(
        "X-replica-004",
        f"With {needed} more in use, {max(0, left)} of {most} connections would be free; {options.headroom:.0%} should be.",
        live(facts, "used_connections", most - free),
        live(facts, "max_connections", most, quality=99),
        points=options.headroom_points,
        remedy="max_connections of the source group, a pooler, or a quieter hour",
    )
