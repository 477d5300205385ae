"""What is happening now, in plain lines: an event sink for everything that is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from rivet_core.facts import Json
from rivet_core.facts.plural import several
from rivet_core.render.quantities import seconds, size
from rivet_core.running.events import RunEvent

PLAIN_EVERY_SECONDS = 10.0
"""How often a plain view says how far running exports are."""
ENDS = ("export_finished", "export_failed", "export_skipped")


def number(value: Json | None) -> int:
    """Return a count from event data, 0 when it is none."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


class PlainView:
    """Plain lines: starts, ends, retries and warnings, and from time to time how far the running exports are."""

    def __init__(self, say: Callable[[str], None], *, verbose: bool = False) -> None:
        self._say = say
        self._verbose = verbose
        self._last: dict[str, float] = {}

    def __call__(self, event: RunEvent) -> None:
        """Show one event."""
        line = self._line(event)
        if line:
            self._say(line)

    def _line(self, event: RunEvent) -> str:
        data, name = event.data, event.export
        if event.kind == "export_started":
            self._last[name] = time.monotonic()
            return f"{name}: started" if self._verbose else ""
        if event.kind == "progress":
            now = time.monotonic()
            if now - self._last.get(name, now) < PLAIN_EVERY_SECONDS:
                return ""
            self._last[name] = now
            return f"{name}: {several(number(data.get('rows')), 'row')}, {size(number(data.get('bytes')))} so far"
        if event.kind == "export_finished":
            took = data.get("seconds")
            rows = several(number(data.get("rows")), "row")
            return f"{name}: {rows}, {size(number(data.get('bytes')))} in {seconds(float(number_or_zero(took)))}"
        if event.kind == "export_failed":
            error = data.get("error")
            return f"{name}: failed: {error.get('message', '') if isinstance(error, dict) else data.get('reason', '')}"
        if event.kind == "export_skipped":
            return f"{name}: {data.get('reason', 'skipped')}"
        if event.kind == "retry":
            return f"{name}: trying again: {data.get('error', '')}"
        if event.kind == "warning":
            return f"warning: {name + ': ' if name else ''}{data.get('message', '')}"
        if event.kind in ("paused", "resumed"):
            return str(data.get("message", ""))
        return stalled_text(data) if event.kind == "stalled" else ""


def stalled_text(data: Mapping[str, Json], between: str = "\n  ") -> str:
    """Return what the watchdog says: how long nothing has moved, and what each does or waits for."""
    lines = data.get("lines")
    return between.join([f"stalled: {data.get('message', '')}", *map(str, lines if isinstance(lines, list) else ())])


def number_or_zero(value: Json | None) -> float:
    """Return seconds from event data, 0 when there are none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
