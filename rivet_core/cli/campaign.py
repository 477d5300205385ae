"""From a config path to what every planning command needs: the checked config and the usable plugins."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rivet_core.cli.output import Output
from rivet_core.errors import ConfigError

if TYPE_CHECKING:
    from rivet_core.config import CampaignConfig
    from rivet_core.plugins import Registry


def load_campaign(path: Path, out: Output) -> tuple[CampaignConfig, Registry]:
    """Load the config and the plugins, check one against the other, and pass on the config's warnings.

    Raises `ConfigError` for the config, `PluginError` for a plugin that is neither usable nor blocked.
    """
    from rivet_core.config import check_plugin_keys, load_config
    from rivet_core.planning.codes import check_codes, check_plugin_names
    from rivet_core.plugins import load_plugins

    config = load_config(path)
    registry = load_plugins(block=config.plugins.block, allow=config.plugins.allow)
    registry.require_usable()
    check_plugin_keys(config, registry)
    for warning in [*config.warnings, *check_codes(config, registry), *check_plugin_names(config, registry)]:
        out.warn(warning)
    return config, registry


def check_names(wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the wanted export names once each; a name that is not there is an error with the nearest one."""
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise ConfigError(
                f"there is no export called {name}",
                hint=f"did you mean {near[0]}?" if near else f"the exports are {', '.join(known[:8])}",
                code="unknown_export",
            )
    return tuple(dict.fromkeys(wanted))
