"""What is happening now, on a terminal: a view that redraws itself. An event sink, with rich, which only it needs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rivet_core.artifact import Plan
from rivet_core.facts.plural import several
from rivet_core.render.progress import ENDS, PlainView, number
from rivet_core.render.quantities import count, seconds, size
from rivet_core.render.remaining import Remaining
from rivet_core.running.events import RunEvent

SHOWN_RUNNING = 12
RECKON_EVERY_SECONDS = 2.0
"""How often the live view reckons the time to go."""


@dataclass(slots=True)
class _Running:
    """One export on the way."""

    started: float
    rows: int = 0
    bytes: int = 0
    shares: dict[str, float] = field(default_factory=dict)
    """When the shares that are being read began, for a split export."""
    split: bool = False


@dataclass(slots=True)
class _Tally:
    """What the view keeps of a campaign."""

    plan: Plan
    running: dict[str, _Running] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    skipped: int = 0
    rows: int = 0
    bytes: int = 0

    def take(self, event: RunEvent) -> None:
        """Count an event."""
        data = event.data
        if event.kind == "export_started":
            self.running[event.export] = _Running(started=time.monotonic())
        elif event.kind == "progress" and event.export in self.running:
            state = self.running[event.export]
            state.rows, state.bytes = number(data.get("rows")), number(data.get("bytes"))
        elif event.kind == "share_started" and event.export in self.running:
            self.running[event.export].split = True
            self.running[event.export].shares[str(data.get("share"))] = time.monotonic()
        elif event.kind == "share_finished" and event.export in self.running:
            self.running[event.export].shares.pop(str(data.get("share")), None)
        elif event.kind in ENDS:
            self.running.pop(event.export, None)
            self.done += event.kind == "export_finished"
            self.failed += event.kind == "export_failed"
            self.skipped += event.kind == "export_skipped"
            self.rows += number(data.get("rows"))
            self.bytes += number(data.get("bytes"))

    def predicted(self, name: str) -> tuple[float, float] | None:
        """Return p50 and p90 of an export, `None` when nothing was ever measured."""
        found = self.plan.export(name)
        if found is None or found.predicted_seconds is None or found.predicted_seconds.basis == "unknown":
            return None
        alone = max(1, number(found.spec.get("parallel"))) if found.split_in else 1
        quicker = alone / (found.split_in or 1)
        return found.predicted_seconds.p50 * quicker, found.predicted_seconds.p90 * quicker

    def elapsed(self, now: float) -> dict[str, float]:
        """Return the seconds that each running export, or each running share of a split one, has run."""
        found: dict[str, float] = {}
        for name, state in list(self.running.items()):
            found |= {one: now - began for one, began in list((state.shares if state.split else {name: state.started}).items())}
        return found


class LiveView:
    """A view that redraws itself: totals, then one line per running export with rate, prediction and overdue mark."""

    def __init__(self, plan: Plan, console: Console | None = None) -> None:
        self._tally = _Tally(plan)
        self._total = sum(export.status == "planned" for export in plan.exports)
        self._began = time.monotonic()
        self._remaining: Remaining | None = None
        self._reckoned, self._to_go = -RECKON_EVERY_SECONDS, ""
        self._console = console or Console(stderr=True)
        self._plain = PlainView(lambda text: self._console.print(Text(text)))
        self._live = Live(console=self._console, refresh_per_second=4, transient=True, get_renderable=self.draw)

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()

    def __call__(self, event: RunEvent) -> None:
        """Take one event in."""
        if event.kind == "campaign_started":
            data = event.data
            self._remaining = Remaining(self._tally.plan, max(1, number(data.get("workers"))), str(data.get("policy", "")))
        elif event.kind in ENDS and self._remaining is not None:
            self._remaining.ended(event.export)
        elif event.kind == "share_finished" and self._remaining is not None:
            self._remaining.share_ended(str(event.data.get("share")))
        self._tally.take(event)
        if event.kind in ("export_failed", "retry", "warning", "stalled", "paused", "resumed"):
            self._plain(event)

    def draw(self) -> RenderableType:
        """Return the view as it is now."""
        tally, now = self._tally, time.monotonic()
        head = (
            f"{tally.done + tally.failed + tally.skipped}/{several(self._total, 'export')}, {several(tally.rows, 'row')}, "
            f"{size(tally.bytes)}, {seconds(now - self._began)}"
        )
        if tally.failed:
            head += f", {tally.failed} failed"
        details = self._details(tally.elapsed(now), now)
        table = Table(box=None, pad_edge=False, show_header=bool(tally.running))
        for title in ("export", "rows", "read", "rate", "elapsed", "predicted"):
            table.add_column(title, justify="left" if title == "export" else "right")
        for name, state in list(tally.running.items())[:SHOWN_RUNNING]:
            spent = now - state.started
            predicted = tally.predicted(name)
            expected = "" if predicted is None else seconds(predicted[0])
            if predicted is not None and spent > predicted[1]:
                expected += " overdue"
            rate = f"{size(int(state.bytes / spent))}/s" if spent > 0.5 and state.bytes else ""
            table.add_row(name, count(state.rows), size(state.bytes), rate, seconds(spent), expected)
        return Group(Text(head), Text(details), table) if details else Group(Text(head), table)

    def _details(self, elapsed: Mapping[str, float], now: float) -> str:
        """Return the line below the totals: wave, connections in use, time to go."""
        left = self._remaining
        if left is None:
            return ""
        if now - self._reckoned >= RECKON_EVERY_SECONDS:
            self._reckoned, self._to_go = now, left.time_text(elapsed)
        return "; ".join(filter(None, (left.wave_text(elapsed), left.occupancy_text(elapsed), self._to_go)))
