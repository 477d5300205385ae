"""The pause rule: nothing new is read from a group while a replica of it lags, or sessions wait for locks, over the limit.

What is looked at are signals that a read cannot raise itself: a source leaves our own sessions, and whoever waits for them, out
of its lock waits, and a pause leaves nothing of ours open that replay could wait for. So a pause ends when its cause ends.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
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
class _Source:
    """What was last heard of a source, and how its group has fared because of it."""

    group: str
    session: SourceSession
    looked: float
    asking: bool = False
    since: float | None = None
    now: Excess | None = None
    """What was over its limit when it was last asked; `since` is set when the time before it was, too."""
    worst: dict[str, Excess] = field(default_factory=dict)
    pauses: int = 0
    seconds: float = 0.0


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

    def join(self, source: str, group: str, session: SourceSession, facts: ServerFacts | None) -> None:
        """Watch a source that was just opened; `facts` is what it said, if it was asked. One without signals is left alone."""
        mute = facts is not None and facts.replica_lag_seconds is None and facts.lock_waits is None
        if mute or group not in self._limits:
            return
        with self._changed:
            self._sources[source] = _Source(group=group, session=session, looked=time.monotonic())
        self._take(source, facts)

    def why(self, group: str) -> str:
        """Return why nothing may start in this group, empty when it may."""
        sources: Iterable[_Source] = list(self._sources.values())
        return next((str(one.now) for one in sources if one.group == group and one.now is not None), "")

    def is_clear(self, source: str) -> bool:
        """Whether `wait` would return at once, without asking the source."""
        found = self._sources.get(source)
        return found is None or not (self.why(found.group) or self._due(found))

    def wait(self, source: str, act: Act, halted: threading.Event) -> None:
        """Return when the source may be read. The caller holds a connection of its group, which is not in use now.

        Raises `StoppedError` when a stop was requested; returns at once when `halted` is set.
        """
        found = self._sources.get(source)
        if found is None:
            return
        while not halted.is_set():
            self._stop.check()
            self._ask_if_due(source, found)
            why = self.why(found.group)
            if not why:
                break
            act.now(f"waits: {why}")
            with self._changed:
                self._changed.wait(min(self._again, 0.5))

    def summary(self) -> tuple[str, ...]:
        """Return a sentence for each source that made its group pause."""
        said = []
        now = time.monotonic()
        for name, found in self._sources.items():
            for excess in found.worst.values():
                seconds = found.seconds + (now - found.since if found.since is not None else 0.0)
                times = "once" if found.pauses == 1 else f"{found.pauses} times"
                said.append(f"group {found.group} paused {times}, {seconds:.1f} s: at worst, {excess} (source {name})")
        return tuple(said)

    @contextlib.contextmanager
    def watching(self, connection: Callable[[str], AbstractContextManager[bool]]) -> Iterator[None]:
        """Ask the sources that are over a limit in a thread of its own, when `connection(source)` has one to lend."""

        def watch(over: threading.Event) -> None:
            while not over.wait(self._again):
                for name, found in list(self._sources.items()):
                    if found.now is not None and self._due(found):
                        with contextlib.suppress(Exception), connection(name) as may:
                            if may:
                                self._ask_if_due(name, found)

        with in_background("rivet-pressure", watch, patience=LAST_LOOK_SECONDS):
            yield

    def _due(self, found: _Source) -> bool:
        return time.monotonic() - found.looked >= (self._calm if found.now is None else self._again)

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
            found = self._sources[source]
            excess = excess_of(facts, self._limits[found.group]) if facts is not None else None
            began = excess is not None and found.now is not None and found.since is None
            turned = (excess is None) != (found.now is None)
            ended = excess is None and found.since is not None
            found.now = excess
            seconds = 0.0
            if began:
                found.since = time.monotonic()
                found.pauses += 1
            if ended and found.since is not None:
                seconds = time.monotonic() - found.since
                found.since, found.seconds = None, found.seconds + seconds
            if excess is not None and found.since is not None:
                worst = found.worst.get(excess.signal)
                if worst is None or excess.value > worst.value:
                    found.worst[excess.signal] = excess
            group = found.group
            self._changed.notify_all()
        if began and excess is not None:
            said: dict[str, Json] = {"signal": excess.signal, "value": round(excess.value, 3), "limit": excess.limit}
            said |= {"group": group, "source": source}
            message = f"group {group} pauses: {excess} (source {source}); it goes on when that falls"
            self._events.emit("paused", "", message=message, **said)
        if ended:
            message = f"group {group} goes on after {seconds:.1f} s: source {source} is below its limits again"
            self._events.emit("resumed", group=group, source=source, seconds=round(seconds, 3), message=message)
        if turned:
            self.told()


class SourceGate:
    """What an export's reader, and its streams between two pages, ask before they go on (`api.PageGate`)."""

    def __init__(self, pressure: Pressure, source: str, export: str, acts: Acts) -> None:
        self._pressure, self._source, self._export, self._acts = pressure, source, export, acts
        self.halted = threading.Event()
        """Set when the export failed elsewhere: then nobody waits any more."""

    @property
    def is_clear(self) -> bool:
        """Whether `wait` would return at once."""
        return self._pressure.is_clear(self._source)

    def wait(self) -> None:
        """Return when the source may be read; raises `StoppedError`."""
        if not self.is_clear:
            with self._acts.doing(self._export, "asks whether its source may be read") as act:
                self._pressure.wait(self._source, act, self.halted)
