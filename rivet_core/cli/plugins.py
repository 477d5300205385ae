"""`rivet plugins`: which plugins are active, and every hook they implement."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output

app = typer.Typer(help="List and inspect plugins.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_plugins(
    config: ConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    requirements: Annotated[bool, typer.Option("--requirements", help="Print a list that pip can install.")] = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """List every plugin with its version, status and active hooks."""
    from rivet_core.cli.plugin_view import list_as_json, list_as_requirements, list_as_text

    registry = _load(config)
    out = Output(machine=json, verbose=verbose, quiet=quiet)
    if requirements:
        out.data(list_as_requirements(registry))
    elif json:
        out.json(list_as_json(registry))
    else:
        out.data(list_as_text(registry))


@app.command("show")
def show_plugin(
    name: Annotated[str, typer.Argument(help="The plugin's name, or its distribution's.")],
    config: ConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show one plugin: its hooks and every record it offers."""
    import difflib

    from rivet_core.cli.plugin_view import show_as_json, show_as_text
    from rivet_core.errors import ConfigError

    registry = _load(config)
    found = [plugin for plugin in registry.plugins if name in (plugin.name, plugin.dist)]
    if not found:
        names = [plugin.name for plugin in registry.plugins]
        near = difflib.get_close_matches(name, names, n=1)
        raise ConfigError(
            f"no plugin is called {name}",
            hint=f"did you mean {near[0]}?" if near else f"installed: {', '.join(names)}",
            code="unknown_plugin",
        )
    out = Output(machine=json, verbose=verbose, quiet=quiet)
    for plugin in found:
        if json:
            out.json(show_as_json(plugin))
        else:
            out.data(show_as_text(plugin))


def _load(config: Any) -> Any:
    """Load plugins under the config's `plugins:` section, if there is a readable config; a bad one must not hide the list."""
    from rivet_core.cli.plugin_view import plugin_lists
    from rivet_core.plugins import load_plugins

    block, allow = plugin_lists(config)
    return load_plugins(block=block, allow=allow)
