"""The plugin machine: discover, admit, register. The only caller of pluggy besides the hookspecs.

Loading is a function that the command line calls, never a side effect of an import, and a plugin that cannot be used never
takes another one with it.
"""

from __future__ import annotations

from rivet_core.plugins.fault import faults_of, plugin_fault, quietly, raising
from rivet_core.plugins.info import Owned, PluginInfo, Status
from rivet_core.plugins.load import load_plugins
from rivet_core.plugins.registry import Registry

__all__ = ["Owned", "PluginInfo", "Registry", "Status", "faults_of", "load_plugins", "plugin_fault", "quietly", "raising"]
