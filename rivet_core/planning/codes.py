"""Reason codes and plugins that a config names: each must be one that is there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from rivet_core.config import CampaignConfig
from rivet_core.config.document import read_document
from rivet_core.config.nodes import Location
from rivet_core.config.sections import nearest
from rivet_core.planning.taxonomy import TAXONOMY
from rivet_core.plugins import Registry


def check_codes(config: CampaignConfig, registry: Registry) -> list[str]:
    """Raise `ConfigError` with file and line for a core code that does not exist; return warnings for those of plugins.

    A plugin's code may belong to a plugin that is installed elsewhere only, so a config that names it still plans.
    """
    offered = {code for owned in registry.rules for code in owned.record.codes}
    offered |= {code for owned in registry.emitters for code in owned.record.codes}
    unknown = [(code, where) for code, where in _named(config) if code not in TAXONOMY and code not in offered]
    if not unknown:
        return []
    document = read_document(config.given)
    warnings = []
    for code, where in unknown:
        what = f"there is no reason {code}"
        known = sorted(TAXONOMY if code.startswith("RV") else offered)
        near = max(known, key=lambda other: _alike(code, other), default="")
        meant = f"did you mean `{near}`? " if _alike(code, near) > len("RV") else ""
        if code.startswith("RV"):
            raise document.error(where, what, hint=f"{meant}rivet schema reasons lists them")
        warnings.append(
            f"{document.place(where)}no loaded plugin gives {code}: it has no effect{f'; {meant.strip()}' if meant else ''}"
        )
    return warnings


def check_plugin_names(config: CampaignConfig, registry: Registry) -> list[str]:
    """Return a warning for each name under `plugins.options` and `plugins.grant` that no installed plugin has.

    The plugin may be installed elsewhere only; but what is meant for one that is here must not be left out without a word.
    """
    names = {plugin.name: plugin.name for plugin in registry.plugins}
    of_dist = {plugin.dist: plugin.name for plugin in registry.plugins}
    unknown = [(key, name) for key in ("options", "grant") for name in getattr(config.plugins, key) if name not in names]
    if not unknown:
        return []
    document = read_document(config.given)
    warnings = []
    for key, name in unknown:
        meant = of_dist.get(name) or nearest(name, names)
        warnings.append(
            f"{document.place(('plugins', key, name))}no installed plugin is called {name}: it has no effect"
            + (f"; did you mean `{meant}`?" if meant else "")
        )
    return warnings


def _named(config: CampaignConfig) -> Iterator[tuple[str, Location]]:
    for code in config.planning.rules:
        yield code, ("planning", "rules", code)
    for index, entry in enumerate(config.planning.suppress):
        yield entry.code, ("planning", "suppress", index, "code")


def _alike(code: str, other: str) -> int:
    """How many characters two codes begin with alike: the first digit of a code is its subject."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(code, other, strict=False)))
