"""Open sources for `reconcile` and `repair`: each once, its connections counted with those of all runs of the group."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rivet_core.api import SourceSession
    from rivet_core.cli.datasets import Datasets
    from rivet_core.facts import ExportSpec, ServerFacts
    from rivet_core.running.budget import ConnectionBudget, Reservation
    from rivet_core.running.pressure import Limits, SourceGate
    from rivet_core.running.stop import Stop
    from rivet_core.state import Lease, StateStore

SLOT_WAIT_SECONDS = 0.2
"""Between two looks whether another process gave connections of the group back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """A source with the lease it was asked for, and what says when it may be read."""

    session: SourceSession
    lease: Lease
    gate: SourceGate


class Sources:
    """The sources of the chosen exports, opened when first needed. Exports are looked at one after the other.

    `warn` hears when a group has to be left alone for a while.
    """

    def __init__(self, chosen: Datasets, state: StateStore, stop: Stop, warn: Callable[[str], None]) -> None:
        from rivet_core.running.events import Events
        from rivet_core.running.pressure import Pressure

        self._chosen = chosen
        self._state = state
        self._stop = stop
        self._sessions: dict[str, tuple[SourceSession, ServerFacts]] = {}
        self._budgets: dict[str, ConnectionBudget] = {}
        self._sharing = contextlib.ExitStack()
        self._limits: dict[str, Limits] = {}
        self._watched: dict[str, str] = {}
        self._pressure = Pressure(self._limits, Events(lambda event: warn(str(event.data.get("message", "")))), stop)

    @contextlib.contextmanager
    def lend(self, spec: ExportSpec, lease: str) -> Iterator[Lent]:
        """Hold one connection of the export's group with the lease `lease`, waiting while runs have all of them.

        Raises `BusyError` when another process holds the lease.
        """
        from rivet_core.planning.groups import group_of
        from rivet_core.running.pressure import SourceGate
        from rivet_core.running.watchdog import Acts

        session, server = self._open(spec.source)
        group = group_of(spec, self._chosen.config.sources[spec.source], server)
        budget = self._budget(group, server)
        budget.join(spec.source, session)
        reservation = self._reserve(budget, lease, group, spec.source)
        try:
            self._watch(spec.source, group, session, server)
            gate = SourceGate(self._pressure, spec.source, group, spec.name, Acts())
            yield Lent(session=session, lease=reservation.lease, gate=gate)
        finally:
            budget.give_back(reservation)

    def stopped(self, name: str, code: int) -> None:
        """Cancel what runs at the sources, after a signal."""
        from rivet_core.plugins import quietly

        self._stop.request(name, code)
        for session, _ in list(self._sessions.values()):
            quietly(session.cancel)

    def close(self) -> None:
        """Close every source."""
        from rivet_core.plugins import quietly

        self._sharing.close()
        for session, _ in self._sessions.values():
            quietly(session.close)

    def _open(self, name: str) -> tuple[SourceSession, ServerFacts]:
        if name not in self._sessions:
            from rivet_core.plugins import faults_of

            source = self._chosen.config.sources[name]
            with faults_of(source.type):
                session = self._chosen.registry.open_source(source.type, source.options, base=self._chosen.config.base)
                with contextlib.ExitStack() as unless_open:
                    unless_open.callback(session.close)
                    session.limit(1)
                    server = session.probe()
                    session.limit(0)  # whatever is open from here on is one of the group's connections
                    unless_open.pop_all()
                self._sessions[name] = session, server
        return self._sessions[name]

    def _watch(self, source: str, group: str, session: SourceSession, server: ServerFacts) -> None:
        from rivet_core.config import GroupConfig
        from rivet_core.running.pressure import Limits

        if self._watched.get(source) == group:  # What it said when it was opened is no news.
            return
        self._watched[source] = group
        declared = self._chosen.config.source_groups.get(group) or GroupConfig()
        self._limits[group] = Limits(lag_seconds=declared.max_lag_seconds, lock_waits=declared.max_lock_waits)
        self._pressure.join(source, (group,), session, server)

    def _budget(self, group: str, server: ServerFacts) -> ConnectionBudget:
        from rivet_core.facts import Capacities
        from rivet_core.planning.groups import capacity_of
        from rivet_core.running.budget import ConnectionBudget, sharing

        config = self._chosen.config
        if group not in self._budgets:
            capacity = capacity_of(config.source_groups.get(group), [server], config.planning.workers)
            budget = ConnectionBudget(Capacities(workers=1, groups={group: capacity}), self._state.leases)
            self._sharing.enter_context(sharing(budget))
            self._budgets[group] = budget
        return self._budgets[group]

    def _reserve(self, budget: ConnectionBudget, lease: str, group: str, source: str) -> Reservation:
        from rivet_core.state import Refusal, busy

        while True:
            found = budget.reserve(lease, group, source, 1)
            if not isinstance(found, Refusal):
                return found
            self._stop.check()
            if not found.slots:
                raise busy(found.name, found.holder)
            time.sleep(SLOT_WAIT_SECONDS)


@contextlib.contextmanager
def sources_of(chosen: Datasets, state: StateStore, stop: Stop, warn: Callable[[str], None]) -> Iterator[Sources]:
    """Lend the sources of some exports; Ctrl-C, SIGTERM and SIGHUP cancel what runs there."""
    from rivet_core.running.signals import listening

    sources = Sources(chosen, state, stop, warn)
    try:
        with listening(sources.stopped):
            yield sources
    finally:
        sources.close()
