"""The row of `queries.SERVER`, as facts."""

from __future__ import annotations

from typing import Any

import psycopg

from rivet_core.facts import Role, ServerFacts
from rivet_core.sql.limits import tightest

STATS_GRANT = "GRANT pg_read_all_stats TO {role}"
NEVER_SECONDS = 1e9
"""What `max_standby_streaming_delay = -1` (wait for ever) becomes."""


def server_facts(row: Any, *, address: str, info: psycopg.ConnectionInfo, encrypted: bool | None = None) -> ServerFacts:
    """Return the server at this moment. What the role may not see is unknown, with the grant that would show it."""
    grants: tuple[str, ...] = ()
    notes = []
    if not row.sees_sessions:
        grants = (STATS_GRANT.format(role=info.user),)
        notes.append("other sessions' state is hidden from this role: active sessions and oldest transaction are unknown")
    if row.standby:
        notes.append("a standby: activity counters are its own and ignored, sizes and statistics come from the primary")
    if not row.counts:
        notes.append("track_counts is off: nothing counts writes")
    if row.standby and row.lag_seconds is None:
        notes.append("nothing has been replayed yet: the lag is unknown")
    delay = None if row.delay_ms is None else NEVER_SECONDS if row.delay_ms < 0 else row.delay_ms / 1000
    most, used = tightest(
        [
            (row.max_connections, row.used_connections),
            (row.role_limit, row.role_used),
            (row.database_limit, row.database_used),
        ]
    )
    return ServerFacts(
        engine="postgres",
        version=row.version,
        address=address,
        database=info.dbname,
        role=Role.STANDBY if row.standby else Role.PRIMARY,
        observed_at=row.now,
        max_connections=most,
        used_connections=used,
        active_sessions=row.active if row.sees_sessions else None,
        oldest_transaction_seconds=(row.oldest_seconds or 0.0) if row.sees_sessions else None,
        replica_lag_seconds=row.lag_seconds if row.standby else 0.0,
        lock_waits=row.lock_waits,
        conflict_delay_seconds=delay if row.standby else None,
        hot_standby_feedback=row.feedback if row.standby else None,
        conflicts=row.conflicts if row.standby else None,
        counters_since=row.stats_reset,
        # A pooler answers the handshake itself, with a process id of its own.
        pooler="a connection pooler" if info.backend_pid != row.pid else "",
        encrypted=encrypted,
        grants=grants,
        notes=tuple(notes),
    )
