"""X-replica-001: what the standby has not replayed yet is not read, and its load is likely to be high."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.facts import ExportFacts, Reason, Role
from rivet_replica.options import ReplicaOptions
from rivet_replica.signals import live, risk, span


def score(facts: ExportFacts, options: ReplicaOptions) -> Sequence[Reason]:
    """Return the reason when the standby is further behind than allowed; nothing while the lag is unknown."""
    lag = facts.server.replica_lag_seconds
    if facts.server.role is not Role.STANDBY or lag is None or lag <= options.max_lag_seconds:
        return ()
    return risk(
        "X-replica-001",
        f"The standby is {span(lag)} behind: rows of that time are not there yet.",
        live(facts, "replica_lag", round(lag, 1), "s"),
        points=options.lag_points,
        remedy="wait until it has caught up, or read from another replica",
        caveat="One sample; a quiet primary makes the lag look longer than it is.",
    )
