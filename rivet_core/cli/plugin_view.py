"""What `rivet plugins` prints. Nothing here imports what a plugin's references name."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from rivet_core.api import Record
from rivet_core.plugins import PluginInfo, Registry, Status


def plugin_lists(config: Path) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return `plugins.block` and `plugins.allow` of a config without checking the rest of it; nothing if it cannot be read."""
    import yaml

    try:
        section = (yaml.safe_load(config.read_text(encoding="utf-8")) or {}).get("plugins") or {}
        block = tuple(str(name) for name in section.get("block") or ())
        allow = section.get("allow")
        return block, None if allow is None else tuple(str(name) for name in allow)
    except (OSError, ValueError, AttributeError, TypeError, yaml.YAMLError):
        return (), None


def list_as_json(registry: Registry) -> dict[str, Any]:
    """Return `{"plugins": [...]}`, one object per entry point."""
    return {"plugins": [_summary(plugin) for plugin in registry.plugins]}


def list_as_requirements(registry: Registry) -> str:
    """Return `dist==version` lines of the plugins in use, each distribution once."""
    return "\n".join(sorted({f"{plugin.dist}=={plugin.version}" for plugin in registry.plugins if plugin.status is Status.OK}))


def list_as_text(registry: Registry) -> str:
    """Return one block per plugin: a line on the plugin, then a line per active hook with what it offers."""
    lines: list[str] = []
    for plugin in registry.plugins:
        lines.append(f"{plugin.name:<12} {plugin.dist} {plugin.version}  api {plugin.api}  {plugin.status}")
        if plugin.detail:
            lines.append(f"    {plugin.detail}")
        if plugin.hint:
            lines.append(f"    hint: {plugin.hint}")
        for hook, records in sorted(plugin.hooks.items()):
            lines.append(f"    {hook}: {', '.join(_offer(record) for record in records)}")
    return "\n".join(lines)


def show_as_json(plugin: PluginInfo) -> dict[str, Any]:
    """Return a plugin with every field of every record."""
    return {
        **_summary(plugin),
        "records": {
            hook: [{field.name: _plain(getattr(record, field.name)) for field in fields(record)} for record in records]
            for hook, records in sorted(plugin.hooks.items())
        },
    }


def show_as_text(plugin: PluginInfo) -> str:
    """Return a plugin with a line per record."""
    lines = [f"{plugin.name}: {plugin.dist} {plugin.version}, api {plugin.api}, {plugin.status}"]
    lines += [f"  {text}" for text in (plugin.detail, plugin.hint and f"hint: {plugin.hint}") if text]
    for hook, records in sorted(plugin.hooks.items()):
        lines.append(f"  {hook}")
        lines += [f"    {_offer(record):<28} {record.summary}" for record in records]
    return "\n".join(lines)


def _summary(plugin: PluginInfo) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "dist": plugin.dist,
        "version": plugin.version,
        "api": plugin.api,
        "status": str(plugin.status),
        "detail": plugin.detail,
        "hint": plugin.hint,
        "hooks": {hook: [record.name for record in records] for hook, records in sorted(plugin.hooks.items())},
    }


def _offer(record: Record) -> str:
    codes: tuple[str, ...] = getattr(record, "codes", ())
    if not codes:
        return record.name
    return f"{record.name} ({codes[0]})" if len(codes) == 1 else f"{record.name} ({codes[0]}..{codes[-1]})"


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, str | int | float | bool | None) else f"{value!r}"
