"""A folder of CSV files as a source."""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.api import SourceSpec, hookimpl


@hookimpl
def rivet_sources() -> Sequence[SourceSpec]:
    """Called once, when plugins are loaded. The references are imported on first use."""
    return [
        SourceSpec(
            name="csvdir",
            summary="A folder of CSV files, one table each",
            options="rivet_csvdir.options:Options",
            connect="rivet_csvdir.session:connect",
        )
    ]
