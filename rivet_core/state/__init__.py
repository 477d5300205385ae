"""What Rivet remembers between runs: cursors, runs, units, parts, progression, history, events, catalog snapshots, leases.

`open_state` is for commands that change something; `read_state` is for planning and reports: it creates and writes nothing.
"""

from __future__ import annotations

from rivet_core.state.fingerprint import source_fingerprint
from rivet_core.state.leases import Lease, Refusal, Slots, busy
from rivet_core.state.opening import open_state, read_state
from rivet_core.state.records import Event, Metric, PartRecord, Progress, Resumable, RunStart, Snapshot, UnitRecord
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
]
