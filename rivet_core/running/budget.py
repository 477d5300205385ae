"""The connections of each source group: one budget for all its sources, for probes and, through the state, for other processes.

A slot is held as long as the connection that it stands for may be open, not only while an export runs, because sources keep
connections to use them again. Spare ones are given up when another source of the group, or another process, needs them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rivet_core.api import SourceSession
from rivet_core.errors import PluginError, RivetError, named
from rivet_core.facts import Capacities, GroupCapacity
from rivet_core.running.background import in_background
from rivet_core.state.leases import Lease, Leases, Refusal, Slots

RECALL_SECONDS = 0.25
"""How often to look whether another process waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Connections of a group that one user has, and the lease that came with them."""

    lease: Lease
    group: str
    source: str
    count: int


@dataclass(slots=True)
class _Group:
    """What this process has of a group: slots by lease name, and per source how many are used and how many may be open."""

    capacity: GroupCapacity
    slots: list[str] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)
    allowed: dict[str, int] = field(default_factory=dict)

    @property
    def spare(self) -> int:
        return len(self.slots) - sum(self.used.values())


class ConnectionBudget:
    """Hands out the connections of all groups of a campaign. Thread-safe."""

    def __init__(self, capacities: Capacities, leases: Leases) -> None:
        self._leases = leases
        self._groups = {name: _Group(capacity) for name, capacity in capacities.groups.items()}
        self._sessions: dict[str, SourceSession] = {}
        self._lock = threading.Lock()
        self._wanted: frozenset[str] = frozenset()
        self._ended: list[Lease] = []
        """Leases of exports that ended, given back with the next one that is taken or at the next look."""

    def join(self, source: str, session: SourceSession) -> None:
        """Let the budget say how many connections a source may have open."""
        with self._lock:
            self._sessions[source] = session

    def reserve(self, name: str, group: str, source: str, count: int, *, heavy: bool = False) -> Reservation | Refusal:
        """Take lease `name` with `count` connections of the group, or nothing at all; the source may then open them.

        Raises `PluginError` when a source cannot follow; nothing is taken then.
        """
        with self._lock:
            found = self._groups[group]
            count = min(count, found.capacity.max_connections)
            missing = max(0, count - found.spare)
            slots = (
                Slots(resource=_connections(group), capacity=found.capacity.max_connections, count=missing),
                Slots(resource=f"heavy:{group}", capacity=found.capacity.max_heavy, count=int(heavy)),
            )
            ended = self._take_ended()
            try:
                lease = self._leases.attempt(name, slots, instead_of=ended)
            except BaseException:
                self._ended += ended
                raise
            if isinstance(lease, Refusal):
                if lease.slots:
                    self._give_up(found)  # two that wait for each other's spare slots would wait for ever
                return lease
            taken = [slot for slot in lease.names if slot.startswith(f"slot:{_connections(group)}:")]
            before = dict(found.allowed)
            found.slots += taken
            found.used[source] = found.used.get(source, 0) + count
            try:
                self._admit(found, source)
            except BaseException:
                # As if nothing had been asked for; what a source may have open counts as it did.
                found.used[source] -= count
                found.allowed = before
                found.slots = [slot for slot in found.slots if slot not in taken]
                self._leases.release(lease)
                raise
            rest = tuple(slot for slot in lease.names if slot not in taken)
            kept = Lease(name=name, names=rest, taken_from=lease.taken_from)
            return Reservation(lease=kept, group=group, source=source, count=count)

    def give_back(self, reservation: Reservation) -> None:
        """End a reservation; its connections stay open for whoever is next, unless another process waits for them.

        A lease that came without slots is given back a moment later: nobody in this process wants it again.
        """
        later = len(reservation.lease.names) == 1
        try:
            with self._lock:
                found = self._groups[reservation.group]
                found.used[reservation.source] -= reservation.count
                if later:
                    self._ended.append(reservation.lease)
                if reservation.group in self._wanted:
                    self._give_up(found)
        finally:
            if not later:
                self._leases.release(reservation.lease)

    def wanted(self, group: str) -> bool:
        """Whether another process waited for connections of the group when somebody last looked."""
        return group in self._wanted

    def all_held(self, exports: Iterable[str]) -> bool:
        """Whether other runs hold all of these exports."""
        held = self._leases.holders()
        return all(f"export:{name}" in held for name in exports)

    def recall(self) -> None:
        """Look whether other processes wait, and give them what is spare."""
        wanted = self._leases.wanted()
        with self._lock:
            self._wanted = frozenset(group for group in self._groups if _connections(group) in wanted)
            for group in self._wanted:
                self._give_up(self._groups[group])
            ended = self._take_ended()
        while ended:
            try:
                self._leases.release(ended[-1])
            except RivetError:
                with self._lock:
                    self._ended += ended
                raise
            ended.pop()

    def want(self, group: str) -> Lease | Refusal:
        """Tell other processes that this one waits; give the lease back when it is over."""
        return self._leases.want(_connections(group))

    def _take_ended(self) -> list[Lease]:
        ended, self._ended = self._ended, []
        return ended

    def _admit(self, group: _Group, source: str) -> None:
        """Let `source` have open what it uses, and close spare connections of other sources as far as that needs."""
        need = group.used[source]
        over = sum(group.allowed.values()) + max(0, need - group.allowed.get(source, 0)) - len(group.slots)
        for other in group.allowed:
            cut = min(over, group.allowed[other] - group.used.get(other, 0))
            if other != source and cut > 0:
                group.allowed[other] -= cut
                over -= cut
                self._limit(other)
        if need > group.allowed.get(source, 0):
            group.allowed[source] = need
            self._limit(source)

    def _give_up(self, group: _Group) -> None:
        """Close what is idle, then free its slots. A source that cannot close keeps the slots of what may be open."""
        if group.spare <= 0:
            return
        for source, allowed in list(group.allowed.items()):
            used = group.used.get(source, 0)
            if allowed > used:
                group.allowed[source] = used
                try:
                    self._limit(source)
                except RivetError:
                    group.allowed[source] = allowed
        kept = sum(group.allowed.values())
        freed, group.slots = group.slots[kept:], group.slots[:kept]
        if freed:
            self._leases.release(Lease(name=freed[0], names=tuple(freed)))

    def _limit(self, source: str) -> None:
        groups: Iterable[_Group] = self._groups.values()
        try:
            self._sessions[source].limit(sum(group.allowed.get(source, 0) for group in groups))
        except RivetError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"source {source} failed to limit its connections: {named(error)}",
                hint="this is a fault of the source's plugin: report it to its authors",
                code="plugin_failed",
            ) from error


@contextlib.contextmanager
def sharing(budget: ConnectionBudget) -> Iterator[None]:
    """Look now and then, in a thread of its own, whether other processes wait for what is spare here."""

    def look(over: threading.Event) -> None:
        while not over.wait(RECALL_SECONDS):
            with contextlib.suppress(RivetError):  # the next look tries again
                budget.recall()

    with in_background("rivet-recall", look):
        yield


def _connections(group: str) -> str:
    return f"connections:{group}"
