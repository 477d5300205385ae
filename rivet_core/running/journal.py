"""The journal: what is worth remembering of a campaign, written by a thread of its own, so that no worker waits for it."""

from __future__ import annotations

import queue
import threading
from types import TracebackType

from rivet_core.errors import RivetError
from rivet_core.running.events import RunEvent, Sink
from rivet_core.running.unexpected import unexpected
from rivet_core.state import Event, StateStore

GATHER_SECONDS = 0.2
"""How long entries are gathered into one transaction: exports write to the same database, one at a time."""

KEPT = frozenset(
    {
        "campaign_started",
        "export_failed",
        "export_skipped",
        "warning",
        "stalled",
        "paused",
        "resumed",
        "campaign_finished",
        "export_finished",
    }
)
"""Kinds of events that are worth an entry."""


class Journal:
    """A sink that keeps events and hands all of them on. Entries are written within `GATHER_SECONDS`.

    As a context manager it writes what is left when it ends. `failure` is the first one to write: exports go on, and whoever
    runs the campaign says so at its end. A process that is killed loses what came in its last moments; what its exports did
    stands in the runs.
    """

    def __init__(self, state: StateStore, plan_id: str, sink: Sink | None) -> None:
        self._state = state
        self._plan_id = plan_id
        self._sink = sink
        self._entries: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self.failure: RivetError | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, name="rivet-journal", daemon=True)

    def __call__(self, event: RunEvent) -> None:
        """Take one event."""
        if event.kind in KEPT:
            self._entries.put(Event(at=event.at, kind=event.kind, plan_id=self._plan_id, export=event.export, data=event.data))
        if self._sink is not None:
            self._sink(event)

    def __enter__(self) -> Journal:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._entries.put(None)
        self._thread.join()

    def _write(self) -> None:
        last = False
        while not last:
            found = [self._entries.get()]
            self._over.wait(GATHER_SECONDS)
            while not self._entries.empty():
                found.append(self._entries.get())
            last = None in found
            try:
                self._state.record([entry for entry in found if entry is not None])
            except RivetError as failure:
                self.failure = self.failure or failure
            except Exception as failure:  # noqa: BLE001 - a bug here must not take the exports along
                self.failure = self.failure or unexpected("the journal", failure)
