"""What the exports of a campaign have in common while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from rivet_core.running.events import Events
from rivet_core.running.pressure import Pressure
from rivet_core.running.retry import Budget
from rivet_core.running.stop import Stop
from rivet_core.running.watchdog import Acts
from rivet_core.state import StateStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What all exports of a campaign share."""

    state: StateStore
    events: Events
    budget: Budget
    stop: Stop
    acts: Acts = field(default_factory=Acts)
    pressure: Pressure | None = None
    resume: bool = False
    force: bool = False
