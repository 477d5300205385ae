"""From a config to the datasets that commands without a source look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rivet_core.cli.campaign import check_names

if TYPE_CHECKING:
    from rivet_core.config import CampaignConfig
    from rivet_core.facts import ExportSpec
    from rivet_core.plugins import Registry
    from rivet_core.running.publish import Dataset
    from rivet_core.state import StateStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Datasets:
    """The chosen exports of a config, with what opens the dataset of each."""

    config: CampaignConfig
    registry: Registry
    specs: tuple[ExportSpec, ...]

    def open(self, spec: ExportSpec) -> Dataset:
        """Open the destination of an export; no reference of a source is resolved."""
        from rivet_core.running.layout import layout_of
        from rivet_core.running.publish import Dataset
        from rivet_core.stores import open_store

        options, layout = layout_of(spec)
        target = self.registry.open_destination(spec.destination.type, options, base=self.config.base)
        return Dataset(open_store(target), layout)

    def state_url(self) -> str:
        """Return the URL of the state, references resolved."""
        from rivet_core.references import resolve_text

        return resolve_text(self.config.state_url, base=self.config.base)

    def read_state(self) -> StateStore:
        """Open the state for reading only."""
        from rivet_core.state import read_state

        return read_state(self.state_url(), base=self.config.base)

    def open_state(self) -> StateStore:
        """Open the state for writing."""
        from rivet_core.state import open_state

        return open_state(self.state_url(), base=self.config.base)


def choose(config: Path, exports: Sequence[str] | None) -> Datasets:
    """Return the named exports, or all of the config.."""
    from rivet_core.config import load_config
    from rivet_core.plugins import load_plugins

    loaded = load_config(config)
    names = check_names(exports or (), [spec.name for spec in loaded.exports])
    registry = load_plugins(block=loaded.plugins.block, allow=loaded.plugins.allow)
    specs = tuple(spec for spec in loaded.exports if not names or spec.name in names)
    return Datasets(config=loaded, registry=registry, specs=specs)
