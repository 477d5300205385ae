"""`rivet plan --write-waves`: the recommended waves into the config, the one edit that Rivet makes to it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rivet_core.cli.output import Output
from rivet_core.facts.plural import several

if TYPE_CHECKING:
    from rivet_core.artifact import Plan
    from rivet_core.config import CampaignConfig
    from rivet_core.plugins import Registry


def without_hand_set(config: CampaignConfig) -> CampaignConfig:
    """Return the config as if no wave and no `parallel_safe` had been set by hand, for a plan that may overwrite them."""
    return replace(config, exports=tuple(replace(spec, wave=None, parallel_safe=None) for spec in config.exports))


def write_waves(config: CampaignConfig, plan: Plan, registry: Registry, out: Output, *, overwrite: bool) -> Plan:
    """Write the plan's waves into the config, show what changed, and return the plan with the new text's digest.

    Values set by hand stay unless `overwrite`. Raises `ConfigError` when the file is read-only, was changed meanwhile, or
    cannot be edited without changing more than this.
    """
    from rivet_core.artifact import seal
    from rivet_core.config import check_plugin_keys, load_config
    from rivet_core.config.document import read_document
    from rivet_core.config.keys import set_export_keys
    from rivet_core.config.rewriting import rewrite
    from rivet_core.errors import ConfigError

    document = read_document(config.given)
    if sha256(document.data) != config.sha256:
        raise ConfigError(f"{config.given} was changed while it was planned", hint="run the command again")
    wanted = dict(_wanted(config, plan, overwrite=overwrite))
    left = [item.name for item in plan.exports if item.recommended_wave is None]
    if left:
        out.note(f"no wave for what could not be planned: {', '.join(left)}")
    if not wanted:
        out.note(f"{config.given} already says so: nothing to write")
        return plan
    new = set_export_keys(document, wanted)
    out.note(masked(_diff(config.given, document.data, new), config, registry))
    rewrite(config.given, document.data, new, lambda draft: check_plugin_keys(load_config(draft), registry))
    alone = sum(keys.get("parallel_safe") is False for keys in wanted.values())
    out.note(
        f"{config.given}: waves of {several(len(wanted), 'export')} written; rivet apply {config.given} runs them as they stand"
    )
    if alone:
        out.note(f"parallel_safe: false on {alone}: such exports run one at a time; take the line out where that is not wanted")
    return seal(plan.model_copy(update={"config": plan.config.model_copy(update={"sha256": sha256(new)})}))


def sha256(data: bytes) -> str:
    """Return the digest by which a plan knows its config."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _wanted(config: CampaignConfig, plan: Plan, *, overwrite: bool) -> Iterator[tuple[int, Mapping[str, int | bool]]]:
    """Yield what to set, by the export's place in the config: no value that stands there already."""
    planned = {item.name: item for item in plan.exports}
    for index, spec in enumerate(config.exports):
        item = planned.get(spec.name)
        if item is None or item.recommended_wave is None:
            continue
        keys: dict[str, int | bool] = {}
        if item.recommended_wave != spec.wave and (spec.wave is None or overwrite):
            keys["wave"] = item.recommended_wave
        if spec.parallel_safe is None and not item.parallel_safe:
            keys["parallel_safe"] = False
        elif overwrite and spec.parallel_safe is not None and spec.parallel_safe != item.parallel_safe:
            keys["parallel_safe"] = item.parallel_safe
        if keys:
            yield index, keys


def _diff(path: Path, old: bytes, new: bytes) -> str:
    lines: list[str] = []
    before, after = (text.decode("utf-8-sig").split("\n") for text in (old, new))
    for line in difflib.unified_diff(before, after, str(path), str(path), lineterm="", n=2):
        lines.append(line.rstrip("\r"))
    return "\n".join(lines)


def masked(text: str, config: CampaignConfig, registry: Registry) -> str:
    """Return the text with `***` for every credential that stands in the config: a diff may end in a log."""
    from rivet_core.planning.secrets import options_model, without_secrets
    from rivet_core.sql.secrets import Secret, mask

    sources = [(source.options, registry.source(source.type).record.options) for source in config.sources.values()]
    places = [spec.destination for spec in config.exports]
    sources += [(place.options, registry.destination(place.type).record.options) for place in places]
    found: set[str] = set()
    for options, ref in sources:
        kept = without_secrets(options, config=config.path, key="x", model=options_model(registry, ref))
        found |= {leaf for name, value in options.items() if kept[name] != value for leaf in _texts(value)}
    if without_secrets({"url": config.state_url}, config=config.path, key="x")["url"] != config.state_url:
        found.add(config.state_url)
    return mask(text, [Secret(leaf) for leaf in found])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
