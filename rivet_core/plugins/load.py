"""Load plugins one at a time: each gets a status, none can break another or the host."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from rivet_core.api import API_VERSION
from rivet_core.errors import ConfigError, in_words
from rivet_core.interrupts import is_ctrl_c
from rivet_core.plugins.admission import CORE, Refused, admit
from rivet_core.plugins.discovery import Candidate, discover
from rivet_core.plugins.info import PluginInfo, Status
from rivet_core.plugins.limit import SECONDS, Overdue, time_limit
from rivet_core.plugins.registry import Registry

BLOCK_VARIABLE = "RIVET_PLUGINS_BLOCK"


def load_plugins(
    *,
    block: Iterable[str] = (),
    allow: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Registry:
    """Discover, load and admit every installed plugin.

    `block` names plugins (or distributions) to leave out, added to those in `RIVET_PLUGINS_BLOCK`; `allow`, when given, is the
    list of distributions that may take part besides core, `names` the list of plugins: those that a plan names. Never raises
    for what a plugin does: look at the statuses.
    """
    environment = os.environ if environ is None else environ
    blocked = {name.strip() for name in environment.get(BLOCK_VARIABLE, "").split(",") if name.strip()} | set(block)
    if CORE in blocked:
        raise ConfigError("the plugin core cannot be blocked", hint="it holds Rivet's own rules, SQLite and local files")
    allowed = None if allow is None else set(allow)
    named = None if names is None else {CORE, *names}
    candidates = discover()
    owners = defaultdict(list)
    for candidate in candidates:
        owners[candidate.name].append(candidate.dist)
    plugins = [_load(candidate, blocked, allowed, named, owners[candidate.name]) for candidate in candidates]
    return Registry(_refuse_duplicates(plugins))


def _load(
    candidate: Candidate, blocked: set[str], allowed: set[str] | None, named: set[str] | None, owners: list[str]
) -> PluginInfo:
    info = PluginInfo(name=candidate.name, dist=candidate.dist, version=candidate.version, api=candidate.api, status=Status.OK)
    if candidate.name in blocked or candidate.dist in blocked:
        return replace(info, status=Status.BLOCKED, detail="blocked by name")
    if allowed is not None and candidate.name != CORE and candidate.dist not in allowed:
        return replace(info, status=Status.BLOCKED, detail="its distribution is not in plugins.allow")
    if named is not None and candidate.name not in named:
        return replace(info, status=Status.BLOCKED, detail="the plan does not name it")
    if not candidate.current:
        older = candidate.api < API_VERSION
        return replace(
            info,
            status=Status.INCOMPATIBLE,
            detail=f"it is written for plugin API {candidate.api}, this core has {API_VERSION}",
            hint=f"pip install --upgrade {candidate.dist if older else 'rivet-core'}",
        )
    if len(owners) > 1:
        return _broken(info, f"two distributions offer a plugin of this name: {' and '.join(sorted(owners))}")
    try:
        # What a plugin prints while it loads must not end up among the data on stdout.
        with contextlib.redirect_stdout(sys.stderr), time_limit(SECONDS):
            hooks = admit(candidate.entry_point.load(), candidate.name)
    except Refused as refusal:
        return _broken(info, str(refusal))
    except Overdue:
        return _broken(info, f"it took more than {SECONDS:g} s to load")
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        # Whatever else it raises, it is that plugin's fault alone.
        return _broken(info, in_words(error))
    return replace(info, hooks=hooks)


def _broken(info: PluginInfo, detail: str) -> PluginInfo:
    hint = f"repair or uninstall {info.dist}, or leave it out with {BLOCK_VARIABLE}={info.name}"
    return replace(info, status=Status.BROKEN, detail=detail, hint=hint, hooks={})


def _refuse_duplicates(plugins: list[PluginInfo]) -> list[PluginInfo]:
    """Break every plugin but core that offers a record name which another one offers too, naming both."""
    owners: dict[tuple[str, str], list[PluginInfo]] = defaultdict(list)
    for plugin in plugins:
        for hook, records in plugin.hooks.items():
            for record in records:
                owners[hook, record.name].append(plugin)
    faults: dict[str, str] = {}
    for (hook, name), sharing in sorted(owners.items()):
        if len(sharing) > 1:
            both = " and ".join(f"{plugin.name} ({plugin.dist})" for plugin in sharing)
            for plugin in sharing:
                if plugin.name != CORE:
                    faults.setdefault(plugin.name, f"{hook}: {name} is offered by {both}")
    return [_broken(plugin, faults[plugin.name]) if plugin.name in faults else plugin for plugin in plugins]
