"""The plugin as a whole: core admits it, importing it is cheap, and it leans on public modules only."""

from __future__ import annotations

from rivet_core.testing import PluginConformance


class TestPlugin(PluginConformance):
    """Every check of the kit for this kind."""

    plugin = "memory"
    module = "rivet_memory"
