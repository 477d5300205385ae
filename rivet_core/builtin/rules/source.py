"""What the source's role and present state add to the risk (RV704, RV705, RV707, RV708)."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.builtin.rules.signals import declared, live
from rivet_core.facts import ExportFacts, Reason, Role
from rivet_core.planning.taxonomy import TAXONOMY, reason
from rivet_core.planning.wording import count_text, span_text
from rivet_core.planning.work import select_work, size_signals

LONG_TRANSACTION = 1800
PURGE_BACKLOG = 1_000_000


def score(facts: ExportFacts, options: object) -> Sequence[Reason]:
    """Return the reasons about the source."""
    return [found for found in (_primary(facts), _conflict(facts), _cleanup(facts), _connections(facts)) if found is not None]


def _primary(facts: ExportFacts) -> Reason | None:
    server = facts.server
    if server.role is not Role.PRIMARY:
        return None
    active = "" if server.active_sessions is None else f" with {server.active_sessions} active sessions"
    evidence = [live(facts, "role", str(server.role), quality=99)]
    if server.active_sessions is not None:
        evidence.append(live(facts, "active_sessions", server.active_sessions, quality=50))
    return reason(
        "RV704",
        f"Reads go to a primary{active}.",
        evidence=evidence,
        remedy="read from a replica",
        potential=TAXONOMY["RV704"].points,
    )


def _conflict(facts: ExportFacts) -> Reason | None:
    """A read that outlasts the delay can be cancelled by replay; units are the longest thing read in one go."""
    server, work = facts.server, select_work(facts)
    delay = server.conflict_delay_seconds
    if server.role is not Role.STANDBY or server.hot_standby_feedback is not False or delay is None or delay < 0:
        return None
    seconds = work.seconds // max(1, len(facts.units))
    if seconds <= delay:
        return None
    return reason(
        "RV705",
        f"A standby without feedback cancels reads beyond {span_text(delay)}; a unit lasts about {span_text(seconds)}.",
        evidence=[
            live(facts, "hot_standby_feedback", False),
            live(facts, "max_standby_streaming_delay", delay, "s"),
            *size_signals(facts, work),
        ],
        remedy="hot_standby_feedback = on (bloat on the primary instead), or smaller units",
        potential=TAXONOMY["RV705"].points,
    )


def _cleanup(facts: ExportFacts) -> Reason | None:
    oldest, backlog = facts.server.oldest_transaction_seconds, facts.server.purge_backlog
    parts, evidence = [], []
    if oldest is not None and oldest >= LONG_TRANSACTION:
        parts.append(f"a transaction is open for {span_text(oldest)}")
        evidence.append(live(facts, "oldest_transaction", oldest, "s", quality=50))
    if backlog is not None and backlog >= PURGE_BACKLOG:
        parts.append(f"{count_text(backlog)} old row versions wait for purge")
        evidence.append(live(facts, "purge_backlog", backlog, quality=50))
    if not parts:
        return None
    text = " and ".join(parts)
    return reason(
        "RV707",
        f"{text[0].upper()}{text[1:]}: a long read holds cleanup back further.",
        evidence=evidence,
        remedy="smaller units; end the long transaction",
    )


def _connections(facts: ExportFacts) -> Reason | None:
    server, needed = facts.server, facts.spec.parallel
    free = server.free_connections
    if free is None or free >= needed:
        return None
    return reason(
        "RV708",
        f"It needs {needed} connections by itself; {free} of {server.max_connections} are free.",
        evidence=[
            declared("parallel", needed),
            live(facts, "used_connections", server.used_connections, quality=50),
            live(facts, "max_connections", server.max_connections, quality=99),
        ],
        remedy=f"parallel: {max(1, free)}",
        potential=TAXONOMY["RV708"].points,
    )
