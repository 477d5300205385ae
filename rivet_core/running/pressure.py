"""The pause rule: nothing new is read from a group while a replica of it lags, or sessions wait for locks, over the limit.

What is looked at are signals that a read cannot raise itself: a source leaves our own sessions, and whoever waits for them, out
of its lock waits, and a pause leaves nothing of ours open that replay could wait for. So a pause ends when its cause ends.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from rivet_core.api import SourceSession
from rivet_core.facts import Json, ServerFacts
from rivet_core.running.background import in_background
from rivet_core.running.events import Events
from rivet_core.running.stop import Stop
from rivet_core.running.watchdog import Act, Acts

CALM_SECONDS = 5.0
"""How often a source that is being read is asked how it is; between pages, on a connection that is counted anyway."""
LAST_LOOK_SECONDS = 5.0
"""How long the end of a campaign waits for a source that is just being asked; a dead server may never answer."""
AGAIN_SECONDS = 1.0
"""How often one over its limit is asked again. One answer holds back what would begin, a second one makes it a pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Over these values a group is left alone."""

    lag_seconds: float
    lock_waits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """A signal that is over its limit."""

    signal: str
    value: float
    limit: float

    def __str__(self) -> str:
        """Return it in words, with value and limit."""
        if self.signal == "replica_lag":
            return f"the replica lags {self.value:.1f} s, over max_lag {self.limit:g} s"
        return f"{self.value:g} sessions wait for locks, over max_lock_waits {self.limit:g}"


def excess_of(facts: ServerFacts, limits: Limits) -> Excess | None:
    """Return what is over its limit, lag first. What a source cannot tell is over no limit."""
    lag, waits = facts.replica_lag_seconds, facts.lock_waits
    if lag is not None and lag > limits.lag_seconds:
        return Excess(signal="replica_lag", value=lag, limit=limits.lag_seconds)
    if waits is not None and waits > limits.lock_waits:
        return Excess(signal="lock_waits", value=waits, limit=limits.lock_waits)
    return None


@dataclass(slots=True)
class _Group:
    """How a group has fared because of one source."""

    since: float | None = None
    now: Excess | None = None
    """What was over its limit when the source was last asked; `since` is set when the time before it was, too."""
    worst: dict[str, Excess] = field(default_factory=dict)
    pauses: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Source:
    """When a source was last heard of, and the groups that read from it: each has limits of its own."""

    session: SourceSession
    looked: float
    groups: dict[str, _Group]
    asking: bool = False

    @property
    def is_over(self) -> bool:
        """Whether it holds any group back."""
        return any(group.now is not None for group in self.groups.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _News:
    """What an answer changed for a group: whether it may start something now, and what is told of a pause."""

    turned: bool
    event: tuple[str, dict[str, Json]] | None


class Pressure:
    """The state of all sources of a campaign. Thread-safe.

    Whoever is about to read asks `wait`; readers do the asking while they have a connection, and `watching` where none has.
    `told` is called without locks when a group is held or goes on.
    """

    def __init__(
        self,
        limits: Mapping[str, Limits],
        events: Events,
        stop: Stop,
        *,
        calm_seconds: float | None = None,
        again_seconds: float | None = None,
    ) -> None:
        self._limits = limits
        self._events = events
        self._stop = stop
        self._calm = CALM_SECONDS if calm_seconds is None else calm_seconds
        self._again = AGAIN_SECONDS if again_seconds is None else again_seconds
        self._sources: dict[str, _Source] = {}
        self._changed = threading.Condition()
        self.told: Callable[[], None] = lambda: None

    def join(self, source: str, groups: Collection[str], session: SourceSession, facts: ServerFacts | None) -> None:
        """Watch a source that was just opened for all `groups` that read from it; `facts` is what it said, if it was asked.

        One without signals is left alone.
        """
        mute = facts is not None and facts.replica_lag_seconds is None and facts.lock_waits is None
        limited = {group: _Group() for group in groups if group in self._limits}
        if mute or not limited:
            return
        with self._changed:
            self._sources[source] = _Source(session=session, looked=time.monotonic(), groups=limited)
        self._take(source, facts)

    def why(self, group: str) -> str:
        """Return why nothing may start in this group, empty when it may."""
        fared = [one.groups.get(group) for one in list(self._sources.values())]
        return next((str(one.now) for one in fared if one is not None and one.now is not None), "")

    def is_clear(self, source: str, group: str) -> bool:
        """Whether `wait` would return at once, without asking the source."""
        found = self._sources.get(source)
        return found is None or not (self.why(group) or self._due(found))

    def wait(self, source: str, group: str, act: Act, halted: threading.Event) -> None:
        """Return when the source may be read. The caller holds a connection of `group`, which is not in use now.

        Raises `StoppedError` when a stop was requested; returns at once when `halted` is set.
        """
        found = self._sources.get(source)
        if found is None:
            return
        while not halted.is_set():
            self._stop.check()
            self._ask_if_due(source, found)
            why = self.why(group)
            if not why:
                break
            act.now(f"waits: {why}")
            with self._changed:
                self._changed.wait(min(self._again, 0.5))

    def summary(self) -> tuple[str, ...]:
        """Return a sentence for each source that made its group pause."""
        said = []
        now = time.monotonic()
        each = [(name, group, fared) for name, found in self._sources.items() for group, fared in found.groups.items()]
        for name, group, fared in each:
            for excess in fared.worst.values():
                seconds = fared.seconds + (now - fared.since if fared.since is not None else 0.0)
                times = "once" if fared.pauses == 1 else f"{fared.pauses} times"
                said.append(f"group {group} paused {times}, {seconds:.1f} s: at worst, {excess} (source {name})")
        return tuple(said)

    @contextlib.contextmanager
    def watching(self, connection: Callable[[str], AbstractContextManager[bool]]) -> Iterator[None]:
        """Ask the sources that are over a limit in a thread of its own, when `connection(source)` has one to lend."""

        def watch(over: threading.Event) -> None:
            while not over.wait(self._again):
                for name, found in list(self._sources.items()):
                    if found.is_over and self._due(found):
                        with contextlib.suppress(Exception), connection(name) as may:
                            if may:
                                self._ask_if_due(name, found)

        with in_background("rivet-pressure", watch, patience=LAST_LOOK_SECONDS):
            yield

    def _due(self, found: _Source) -> bool:
        return time.monotonic() - found.looked >= (self._again if found.is_over else self._calm)

    def _ask_if_due(self, source: str, found: _Source) -> None:
        with self._changed:
            if found.asking or not self._due(found):
                return
            found.asking = True
        facts = None
        try:
            with contextlib.suppress(Exception):  # a source that cannot answer is left to the read, which says why
                facts = found.session.probe()
        finally:
            with self._changed:
                found.asking = False
                found.looked = time.monotonic()
        self._take(source, facts)

    def _take(self, source: str, facts: ServerFacts | None) -> None:
        """Learn from an answer, `None` for no answer, and say what changed."""
        with self._changed:
            news = [self._learn(source, group, facts) for group in self._sources[source].groups]
            self._changed.notify_all()
        for kind, said in (one.event for one in news if one.event is not None):
            self._events.emit(kind, "", **said)
        if any(one.turned for one in news):
            self.told()

    def _learn(self, source: str, group: str, facts: ServerFacts | None) -> _News:
        """Learn for one of the groups. Called with the lock."""
        found = self._sources[source].groups[group]
        excess = excess_of(facts, self._limits[group]) if facts is not None else None
        turned = (excess is None) != (found.now is None)
        event: tuple[str, dict[str, Json]] | None = None
        if excess is not None and found.now is not None and found.since is None:
            found.since = time.monotonic()
            found.pauses += 1
            said: dict[str, Json] = {"signal": excess.signal, "value": round(excess.value, 3), "limit": excess.limit}
            message = f"group {group} pauses: {excess} (source {source}); it goes on when that falls"
            event = "paused", {**said, "group": group, "source": source, "message": message}
        if excess is None and found.since is not None:
            seconds = time.monotonic() - found.since
            found.since, found.seconds = None, found.seconds + seconds
            message = f"group {group} goes on after {seconds:.1f} s: source {source} is below its limits again"
            event = "resumed", {"group": group, "source": source, "seconds": round(seconds, 3), "message": message}
        found.now = excess
        if excess is not None and found.since is not None:
            worst = found.worst.get(excess.signal)
            if worst is None or excess.value > worst.value:
                found.worst[excess.signal] = excess
        return _News(turned=turned, event=event)


class SourceGate:
    """What an export's reader, and its streams between two pages, ask before they go on (`api.PageGate`)."""

    def __init__(self, pressure: Pressure, source: str, group: str, export: str, acts: Acts) -> None:
        self._pressure, self._source, self._group, self._export, self._acts = pressure, source, group, export, acts
        self.halted = threading.Event()
        """Set when the export failed elsewhere: then nobody waits any more."""

    @property
    def is_clear(self) -> bool:
        """Whether `wait` would return at once."""
        return self._pressure.is_clear(self._source, self._group)

    def wait(self) -> None:
        """Return when the source may be read; raises `StoppedError`."""
        if not self.is_clear:
            with self._acts.doing(self._export, "asks whether its source may be read") as act:
                self._pressure.wait(self._source, self._group, act, self.halted)
