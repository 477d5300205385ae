"""What happens during a campaign, as it happens: records handed to a sink, which may show, print or store them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from rivet_core.facts import Json

KINDS = (
    "campaign_started",
    "export_started",
    "progress",
    "share_started",
    "share_finished",
    "unit_done",
    "retry",
    "warning",
    "stalled",
    "paused",
    "resumed",
    "export_finished",
    "export_failed",
    "export_skipped",
    "campaign_finished",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """One event. `export` is empty for the campaign's own; `data` holds numbers and texts only, never a secret."""

    kind: str
    at: datetime
    export: str = ""
    data: Mapping[str, Json] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Json]:
        """Return the object that `--events` prints as one line."""
        return {"event": self.kind, "at": self.at.isoformat(timespec="milliseconds"), "export": self.export, **self.data}


Sink: TypeAlias = Callable[[RunEvent], None]

MOST_WAITING = 1000
"""Events that wait for a slow sink before `progress` is left out; what it says comes again with the next one."""


class Events:
    """Hands events to the sink one at a time and in order, from whatever thread they come.

    While the sink is busy with one thread's event, others leave theirs in the queue and go on: a sink that blocks holds up one
    thread, never those that want to stop. `campaign_finished` waits until everything was handed on.

    A sink that fails (its reader went away, its disk is full) stops no export: a worker that died of it would leave the
    others waiting for ever. The first such error is raised when the campaign has finished, in the campaign's own thread.

    `seen` hears of every event at once, in the thread it comes from; it must be quick and never fail.
    """

    def __init__(self, sink: Sink | None, seen: Callable[[RunEvent], None] | None = None) -> None:
        self._sink = sink
        self._seen = seen
        self._lock = threading.Lock()
        self._waiting: deque[RunEvent] = deque()
        self._failure: Exception | None = None

    def emit(self, kind: str, export: str = "", **data: Json) -> RunEvent:
        """Record an event now. Raises only for `campaign_finished`: what the sink first failed with."""
        event = RunEvent(kind=kind, at=datetime.now(UTC), export=export, data=data)
        last = kind == "campaign_finished"
        if self._seen is not None:
            self._seen(event)
        if self._sink is not None and not (kind == "progress" and len(self._waiting) > MOST_WAITING):
            self._waiting.append(event)
            while self._waiting and self._lock.acquire(blocking=last):
                try:
                    self._hand_on(self._sink)
                finally:
                    self._lock.release()
        if last and self._failure is not None:
            raise self._failure
        return event

    def _hand_on(self, sink: Sink) -> None:
        while self._waiting:
            try:
                sink(self._waiting.popleft())
            except Exception as error:  # noqa: BLE001 - whatever a sink does, the exports go on
                self._failure = self._failure or error
