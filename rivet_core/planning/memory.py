"""What the state remembers for planning, and the catalog snapshot that planning may leave there.

Planning never creates a state: where nothing was ever run there is nothing to remember, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from rivet_core.config import CampaignConfig
from rivet_core.facts import Mark, RunFact
from rivet_core.planning.inspect import SourceView
from rivet_core.planning.snapshots import Kept, read_snapshots, slot_for, snapshot_data
from rivet_core.references import locate_state, resolve_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the state remembers that planning uses."""

    cursors: Mapping[str, tuple[Mark, ...]]
    histories: Mapping[str, tuple[RunFact, ...]]
    columns: Mapping[str, tuple[tuple[str, str], ...]]
    snapshots: Mapping[str, tuple[Kept, ...]] = field(default_factory=dict)
    """Catalog snapshots by source, newest first."""

    @property
    def lives(self) -> bool:
        """Whether there is a state: something ran before."""
        return bool(self.histories or self.cursors or any(self.snapshots.values()))


def remember(config: CampaignConfig) -> Memory:
    """Read the state, which may not exist."""
    url = resolve_text(config.state_url, base=config.base)
    if (file := _file(url, config.base)) is not None and not file.exists():
        return Memory(cursors={}, histories={}, columns={}, snapshots=dict.fromkeys(config.sources, ()))
    from rivet_core.state import read_state

    with read_state(url, base=config.base) as state:
        return Memory(
            cursors=state.cursors(),
            histories=state.histories(),
            columns=state.all_last_columns(),
            snapshots={name: read_snapshots(state.snapshots(name)) for name in config.sources},
        )


def keep_snapshots(config: CampaignConfig, memory: Memory, views: Mapping[str, SourceView], seen_at: datetime) -> bool:
    """Keep what the sources just said, where there is a state that can be written to; return whether it was kept.

    A cache that cannot be written costs the next plan a rate, never this plan.
    """
    url = resolve_text(config.state_url, base=config.base)
    if not memory.lives or not _writable(url, config.base):
        return False
    from rivet_core.state import open_state

    try:
        with open_state(url, base=config.base) as state:
            for name, view in views.items():
                if view.catalog is not None and view.reused_at is None:
                    data = snapshot_data(view.catalog, view.items, view.identity, seen_at)
                    state.save_snapshot(name, data, slot_for(memory.snapshots.get(name, ()), seen_at))
    except Exception:  # noqa: BLE001 - a locked, full or revoked state: planning goes on without its cache
        return False
    return True


def _writable(url: str, base: Path) -> bool:
    """Whether the file of a SQLite state and its directory, where the log goes, can be written to; a server says so itself."""
    path = _file(url, base)
    return path is None or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _file(url: str, base: Path) -> Path | None:
    """Return the file of a SQLite state, `None` for a server."""
    scheme, _, path = locate_state(url, base).partition("sqlite:///")
    return None if scheme else Path(path)
