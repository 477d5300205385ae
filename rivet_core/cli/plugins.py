"""`rivet plugins`: which plugins are active, every hook they implement, whether they keep the rules, and how to begin one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rivet_core.cli.application import Application
from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, QuietOption, UnreadConfigOption, VerboseOption
from rivet_core.cli.output import Output

app = Application(help="List, inspect, check and begin plugins.", no_args_is_help=True, rich_markup_mode=None)


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


@app.command("new")
def new_plugin(
    name: Annotated[str, typer.Argument(help="The plugin's name, such as acme-audit.")],
    kind: Annotated[
        str, typer.Option("--kind", help="rule, source, destination, policy, classifier, emitter or renderer.", metavar="KIND")
    ] = "rule",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The directory to make (default: ./rivet-NAME).", metavar="DIR")
    ] = None,
    config: UnreadConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a package with one hook, its docs, and tests that are green from the start.

    Example: rivet plugins new acme-audit --kind rule
    """
    from rivet_core.cli.scaffold import names_of, scaffold

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    names = names_of(name, kind)
    files = scaffold(name, kind, output)
    root = output if output is not None else Path(names.dist)
    if json:
        out.json({"plugin": names.plugin, "dist": names.dist, "path": str(root), "files": [str(file) for file in files]})
        return
    for file in files:
        out.data(str(file))
    out.note(f"next: rivet plugins check {root}, then pip install -e {root}")


@app.command("check")
def check_plugins(
    target: Annotated[
        str | None, typer.Argument(help="A plugin's directory, or an installed one's name; all but core when left out.")
    ] = None,
    config: UnreadConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run the conformance kit over a plugin, and its own tests when a directory is given. Exit code 3 when a check fails.

    A check of the kit that does not come back within 30 s fails by its name; the plugin's own tests have 600 s in all.

    Example: rivet plugins check ./rivet-acme-audit
    """
    from rivet_core.cli.plugin_check import check_plugin, find_subjects
    from rivet_core.errors import EXIT_PLUGIN
    from rivet_core.planning.finding import any_error
    from rivet_core.render.doctor_view import findings_text

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    findings = [finding for subject in find_subjects(target) for finding in check_plugin(subject, out.note)]
    failed = any_error(findings)
    if json:
        out.json({"ok": not failed, "findings": [finding.as_dict() for finding in findings]})
    else:
        out.data(findings_text(findings, quiet=quiet, good="it keeps the rules", bad="it breaks the rules"))
    if failed:
        raise typer.Exit(EXIT_PLUGIN)


def _load(config: Any) -> Any:
    """Load plugins under the config's `plugins:` section, if there is a readable config; a bad one must not hide the list."""
    from rivet_core.cli.plugin_view import plugin_lists
    from rivet_core.plugins import load_plugins

    block, allow = plugin_lists(config)
    return load_plugins(block=block, allow=allow)
