"""`rivet doctor`: is everything in place for a run? Config, plugins, state, each source, each destination."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output
from rivet_core.facts.plural import several

if TYPE_CHECKING:
    from rivet_core.config import CampaignConfig
    from rivet_core.planning.finding import Finding
    from rivet_core.plugins import Registry


def doctor(
    config: ConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Look at config, plugins, state, each source and each destination, and say what to do about what is wrong.

    Destinations are tried with a probe file that is deleted again; sources are only read. Exit code 2 when a finding is an
    error, 3 when it is that a plugin cannot be used. -q shows only warnings and errors.

    Example: rivet doctor --json
    """
    from rivet_core.planning.finding import exit_code_of
    from rivet_core.render.doctor_view import doctor_text

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    findings = examine(config)
    code = exit_code_of(findings)
    if json:
        out.json({"ok": not code, "findings": [finding.as_dict() for finding in findings]})
    else:
        out.data(doctor_text(findings, quiet=quiet))
    if code:
        raise typer.Exit(code)


def examine(path: Path) -> list[Finding]:
    """Return everything that was found; one part that fails never hides another."""
    from concurrent.futures import ThreadPoolExecutor

    from rivet_core.cli.doctor_places import examine_destinations, examine_state
    from rivet_core.cli.doctor_sources import examine_source

    config, findings = _config(path)
    registry, more = _plugins(config)
    findings += more
    if config is None:
        return findings
    findings += _keys(config, registry)
    findings += examine_state(config)
    with ThreadPoolExecutor(max_workers=4, thread_name_prefix="rivet-doctor") as pool:
        for found in pool.map(lambda source: examine_source(source, config, registry), config.sources.values()):
            findings += found
    return findings + examine_destinations(config, registry)


def _config(path: Path) -> tuple[CampaignConfig | None, list[Finding]]:
    from rivet_core.config import load_config
    from rivet_core.errors import RivetError
    from rivet_core.planning.finding import Finding, Severity

    try:
        config = load_config(path)
    except RivetError as error:
        hint = error.hint if path.exists() else "rivet init writes one from a live database"
        return None, [Finding(severity=Severity.ERROR, subject="config", message=error.message, hint=hint)]
    counted = f"{several(len(config.exports), 'export')}, {several(len(config.sources), 'source')}"
    read = Finding(severity=Severity.OK, subject="config", message=f"{path} is well formed", evidence=counted)
    return config, [
        read,
        *(Finding(severity=Severity.WARNING, subject="config", message=warning) for warning in config.warnings),
    ]


def _plugins(config: CampaignConfig | None) -> tuple[Registry, list[Finding]]:
    from rivet_core.errors import EXIT_PLUGIN
    from rivet_core.planning.finding import Finding, Severity
    from rivet_core.plugins import Status, load_plugins

    block, allow = ((), None) if config is None else (config.plugins.block, config.plugins.allow)
    registry = load_plugins(block=block, allow=allow)
    severities = {Status.OK: Severity.OK, Status.BLOCKED: Severity.INFO}
    return registry, [
        Finding(
            severity=severities.get(plugin.status, Severity.ERROR),
            subject=f"plugin {plugin.name}",
            message=str(plugin.status) + (f": {plugin.detail}" if plugin.detail else ""),
            evidence=f"{plugin.dist} {plugin.version}",
            hint=plugin.hint,
            exit_code=EXIT_PLUGIN,
        )
        for plugin in registry.plugins
    ]


def _keys(config: CampaignConfig, registry: Registry) -> list[Finding]:
    from rivet_core.config import check_plugin_keys
    from rivet_core.errors import RivetError
    from rivet_core.planning.finding import Finding
    from rivet_core.planning.judging import check_rules

    findings = []
    for check in (check_plugin_keys, check_rules):
        try:
            check(config, registry)
        except RivetError as error:
            findings.append(Finding.of(error, "config"))
    return findings
