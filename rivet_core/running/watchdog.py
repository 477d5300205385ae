"""The watchdog: when nothing has moved for a while it says who waits for what (M08)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from rivet_core.running.background import in_background
from rivet_core.running.events import Events, RunEvent
from rivet_core.scheduling.bound import duration_text
from rivet_core.scheduling.waiting import Waiting

STALL_SECONDS = 300.0
"""Without rows, starts or ends for so long, a campaign says who waits for what; again after twice as long, and so on."""

MOVES = frozenset(
    {"campaign_started", "export_started", "progress", "unit_done", "export_finished", "export_failed", "export_skipped"}
)
"""Events after which a campaign has moved. A retry is none: a source that breaks again and again moves nothing."""


@dataclass(slots=True)
class Act:
    """What somebody is doing: `who` an export or a source, `what` in words, `since` on the monotonic clock."""

    who: str
    what: str
    since: float = field(default_factory=time.monotonic)

    def now(self, what: str) -> None:
        """Go on with something else."""
        if what != self.what:
            self.what, self.since = what, time.monotonic()


class Acts:
    """Everything that is being done in a campaign, and when it last moved. Thread-safe."""

    def __init__(self) -> None:
        self._acts: dict[int, Act] = {}
        self._lock = threading.Lock()
        self.moved = time.monotonic()
        """When something last moved, on the monotonic clock."""

    @contextlib.contextmanager
    def doing(self, who: str, what: str) -> Iterator[Act]:
        """Note what `who` does as long as the block runs."""
        act = Act(who, what)
        with self._lock:
            self._acts[id(act)] = act
        try:
            yield act
        finally:
            with self._lock:
                del self._acts[id(act)]

    def see(self, event: RunEvent) -> None:
        """Take an event for a sign of life."""
        if event.kind in MOVES:
            self.moved = time.monotonic()

    def list(self) -> list[Act]:
        """Return what is being done, the oldest first."""
        with self._lock:
            return sorted(self._acts.values(), key=lambda act: act.since)


@contextlib.contextmanager
def watching(
    acts: Acts, events: Events, waiting: Callable[[], Iterable[Waiting]], *, stall_seconds: float = STALL_SECONDS
) -> Iterator[None]:
    """Emit `stalled` when nothing has moved for `stall_seconds` (0: never); `waiting` tells why exports have not started."""
    if stall_seconds <= 0:
        yield
        return

    def watch(over: threading.Event) -> None:
        limit, moved = stall_seconds, acts.moved
        while not over.wait(max(0.01, moved + limit - time.monotonic())):
            if acts.moved != moved:
                limit, moved = stall_seconds, acts.moved
            elif time.monotonic() - moved >= limit:
                _tell(acts, events, waiting(), time.monotonic() - moved)
                limit *= 2

    with in_background("rivet-watchdog", watch):
        yield


def _tell(acts: Acts, events: Events, waiting: Iterable[Waiting], silent: float) -> None:
    now = time.monotonic()
    found = [(act.who, act.what, now - act.since) for act in acts.list()]
    kept = list(waiting)
    events.emit(
        "stalled",
        silent_seconds=round(silent, 3),
        message=f"no rows, no start and no end for {duration_text(silent)}",
        doing=[{"export": who, "what": what, "seconds": round(seconds, 3)} for who, what, seconds in found],
        waiting=[{"exports": list(one.exports), "reason": one.reason} for one in kept],
        lines=[*(f"{who} {what}, for {duration_text(seconds)}" for who, what, seconds in found), *map(str, kept)],
    )
