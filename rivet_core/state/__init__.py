"""What Rivet remembers between runs: cursors, runs, units, parts, progression, history, events, catalog snapshots, leases.

`open_state` is for commands that change something; `read_state` is for planning and reports: it creates and writes nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rivet_core.state.fingerprint import source_fingerprint
from rivet_core.state.records import Event, Metric, PartRecord, Progress, Resumable, RunStart, Snapshot, UnitRecord

if TYPE_CHECKING:
    from rivet_core.state.leases import Lease, Refusal, Slots, busy
    from rivet_core.state.opening import open_state, read_state, state_exists
    from rivet_core.state.store import StateStore
    from rivet_core.state.transfer import PastRun

__all__ = [
    "Event",
    "Lease",
    "Metric",
    "PartRecord",
    "PastRun",
    "Progress",
    "Refusal",
    "Resumable",
    "RunStart",
    "Slots",
    "Snapshot",
    "StateStore",
    "UnitRecord",
    "busy",
    "open_state",
    "read_state",
    "source_fingerprint",
    "state_exists",
]

_WITH_SQLALCHEMY = {
    "Lease": "leases",
    "PastRun": "transfer",
    "Refusal": "leases",
    "Slots": "leases",
    "StateStore": "store",
    "busy": "leases",
    "open_state": "opening",
    "read_state": "opening",
    "state_exists": "opening",
}


def __getattr__(name: str) -> Any:
    """Import on first use what needs SQLAlchemy: a first plan, which has no state yet, does without."""
    if name in _WITH_SQLALCHEMY:
        return getattr(import_module(f"rivet_core.state.{_WITH_SQLALCHEMY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
