"""X-replica-003: somebody holds a snapshot for long already, and a long read beside it makes cleanup wait longer."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.facts import ExportFacts, Reason, Role
from rivet_replica.options import ReplicaOptions
from rivet_replica.signals import live, risk, span


def score(facts: ExportFacts, options: ReplicaOptions) -> Sequence[Reason]:
    """Return the reason when the oldest transaction is older than allowed."""
    server = facts.server
    oldest = server.oldest_transaction_seconds
    if oldest is None or oldest <= options.long_transaction_seconds:
        return ()
    if server.role is Role.STANDBY and server.hot_standby_feedback:
        where = "on the standby, which holds cleanup on the primary (feedback is on)"
    elif server.role is Role.STANDBY:
        where = "on the standby, where replay may have to wait for it"
    else:
        where = "on this server, which holds its cleanup"
    return risk(
        "X-replica-003",
        f"A transaction has been open for {span(oldest)} {where}.",
        live(facts, "oldest_transaction", round(oldest, 1), "s"),
        points=options.transaction_points,
        remedy="end it, or read later",
        caveat="One sample; it may end before the read begins.",
    )
