"""The config: YAML 1.2 with line numbers, an outer model, and every default resolved."""

from __future__ import annotations

from rivet_core.config.campaign import CampaignConfig, GroupConfig, PlanningConfig, PluginsConfig, SourceConfig, Suppression
from rivet_core.config.load import load_config
from rivet_core.config.plugin_keys import check_plugin_keys
from rivet_core.config.schema import config_schema

__all__ = [
    "CampaignConfig",
    "GroupConfig",
    "PlanningConfig",
    "PluginsConfig",
    "SourceConfig",
    "Suppression",
    "check_plugin_keys",
    "config_schema",
    "load_config",
]
