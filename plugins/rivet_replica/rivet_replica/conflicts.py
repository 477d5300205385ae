"""X-replica-002: replay has cancelled reads here before, so it may cancel this one."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.facts import ExportFacts, Reason, Role
from rivet_replica.options import ReplicaOptions
from rivet_replica.signals import DAY, live, risk, span


def score(facts: ExportFacts, options: ReplicaOptions) -> Sequence[Reason]:
    """Return the reason when reads are cancelled often enough, half the points when nobody knows since when it counts."""
    server = facts.server
    if server.role is not Role.STANDBY or not server.conflicts:
        return ()
    evidence = [live(facts, "recovery_conflicts", server.conflicts)]
    if server.conflict_delay_seconds is not None:
        evidence.append(live(facts, "max_standby_streaming_delay", server.conflict_delay_seconds, "s", quality=99))
    times = "once" if server.conflicts == 1 else f"{server.conflicts} times"
    if server.counters_since is None:
        points, since = options.conflict_points // 2, "since counting began"
    else:
        # Nothing is said of less than a day: one conflict in the first minute is no rate.
        seconds = max(DAY, (facts.as_of - server.counters_since).total_seconds())
        if server.conflicts * DAY / seconds < options.conflicts_per_day:
            return ()
        points, since = options.conflict_points, f"within {span(seconds)}"
    return risk(
        "X-replica-002",
        f"Replay has cancelled reads on this standby {times} {since}.",
        *evidence,
        points=points,
        remedy="hot_standby_feedback = on, a longer max_standby_streaming_delay, or smaller units",
        caveat="Counts all readers of the database, not this export.",
    )
