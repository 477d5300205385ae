"""A destination in memory: for tests of what reads the files, and to see what a destination plugin consists of."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.api import DestinationSpec, hookimpl


@hookimpl
def rivet_destinations() -> Sequence[DestinationSpec]:
    """Called once, when plugins are loaded. The references are imported on first use."""
    return [
        DestinationSpec(
            name="memory",
            summary="The memory of this process, gone with it",
            options="rivet_memory.target:Options",
            open="rivet_memory.target:open_target",
        )
    ]
