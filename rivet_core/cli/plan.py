"""`rivet plan`: what to extract first, what to delay, what to isolate, and what must not run together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, ExportsOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output, width
from rivet_core.facts import MAX_WAVES, MAX_WORKERS

if TYPE_CHECKING:
    from rivet_core.api import PlanRenderer
    from rivet_core.artifact import Plan
    from rivet_core.planning.request import PlanRequest
    from rivet_core.plugins import Registry
    from rivet_core.plugins.info import Owned

CORE_FORMATS = ("table", "json")
RENDER_SECONDS = 60.0
"""What a renderer may take: plans of 10,000 exports are long."""


def plan(
    config: ConfigOption = DEFAULT_CONFIG,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the plan file here.", metavar="FILE")] = None,
    export: ExportsOption = None,
    waves: Annotated[
        str | None, typer.Option("--waves", help="How many waves to recommend, or auto.", metavar="N|auto")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, max=MAX_WORKERS, help="How many exports may run at once.")
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Make several entries of the schedule of an export that alone is the lower bound.")
    ] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask the sources even if their catalogs were read in the last ten minutes.")
    ] = False,
    write_waves: Annotated[
        bool, typer.Option("--write-waves", help="Write the recommended waves into the config, and show the change.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="With --write-waves: replace what was set by hand too.")
    ] = False,
    format_: Annotated[
        str, typer.Option("--format", help="table, json, or a format that a plugin offers.", metavar="NAME")
    ] = "table",
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Plan the campaign. Reads catalogs and statistics only; changes nothing anywhere, but for --write-waves the config.

    Example: rivet plan -o plan.json
    """
    from dataclasses import replace

    from rivet_core.artifact import write_plan
    from rivet_core.cli.targets import CONFIG, inputs_of_plan, refuse_inputs
    from rivet_core.errors import EXIT_FAILED, ConfigError

    if output is not None:
        refuse_inputs(output, {CONFIG: config})
    out = Output(machine=json, verbose=verbose, quiet=quiet)
    wanted = replace(request(export, waves, workers, refresh), split=split)
    shown = "json" if json else format_
    if write_waves:
        made, registry = _plan_and_write(config, wanted, out, overwrite=overwrite, shown=shown)
    elif overwrite:
        raise ConfigError("--overwrite belongs to --write-waves", hint="rivet plan --write-waves --overwrite", code="usage")
    else:
        made, registry = make_plan(config, wanted, out, shown=shown)
    if output is not None:
        refuse_inputs(output, inputs_of_plan(made))
        write_plan(made, output)
        out.note(f"plan written to {output}")
    _print(made, shown, registry, out)
    if report_unplannable(made, out):
        raise typer.Exit(EXIT_FAILED)


def request(
    exports: list[str] | None = None, waves: str | None = None, workers: int | None = None, refresh: bool = True
) -> PlanRequest:
    """Return the planning choices that the options stand for."""
    from rivet_core.errors import ConfigError
    from rivet_core.planning.request import PlanRequest

    number = int(waves) if waves is not None and waves.isdecimal() and len(waves) < 5 else 0
    if waves is not None and waves != "auto" and not 1 <= number <= MAX_WAVES:
        what = f"--waves takes a number from 1 to {MAX_WAVES}, or auto, not {waves[:40]}"
        raise ConfigError(what, hint="for example --waves 4", code="usage")
    return PlanRequest(
        exports=tuple(exports or ()), waves=number or None, auto_waves=waves == "auto", workers=workers, refresh=refresh
    )


def make_plan(path: Path, wanted: PlanRequest, out: Output, *, shown: str = "table") -> tuple[Plan, Registry]:
    """Load, check and plan; return the plan and the registry that made it.

    `shown` is the format to print it in: one that nobody offers is refused before anything is done.
    """
    from dataclasses import replace

    from rivet_core.cli.campaign import check_names, load_campaign
    from rivet_core.planning.build import build_plan

    config, registry = load_campaign(path, out)
    _renderer(shown, registry)
    names = check_names(wanted.exports, [spec.name for spec in config.exports])
    return build_plan(config, registry, replace(wanted, exports=names)), registry


def _plan_and_write(path: Path, wanted: PlanRequest, out: Output, *, overwrite: bool, shown: str) -> tuple[Plan, Registry]:
    """As `make_plan`, the waves written into the config after it."""
    from dataclasses import replace

    from rivet_core.cli.campaign import check_names, load_campaign
    from rivet_core.cli.write_waves import without_hand_set, write_waves
    from rivet_core.config import load_config
    from rivet_core.planning.build import build_plan

    config, registry = load_campaign(path, out)
    _renderer(shown, registry)
    names = check_names(wanted.exports, [spec.name for spec in config.exports])
    wanted = replace(wanted, exports=names)
    made = build_plan(without_hand_set(config) if overwrite else config, registry, wanted)
    written = write_waves(config, made, registry, out, overwrite=overwrite)
    if written is not made and any(item.wave is not None for item in made.exports):
        # Beside waves set by hand the others were suggestions that run last; now they stand in the config too.
        written = build_plan(load_config(path), registry, replace(wanted, refresh=False))
    return written, registry


def report_unplannable(made: Plan, out: Output) -> bool:
    """Say on stderr which exports could not be planned, one line per shared cause; return whether there were any."""
    from rivet_core.cli.boundary import show_error
    from rivet_core.errors import RivetError

    causes: dict[tuple[str, str], list[str]] = {}
    for item in made.exports:
        if item.status == "unplannable" and item.error is not None:
            causes.setdefault((item.error.message, item.error.hint), []).append(item.name)
    for (message, hint), names in causes.items():
        who = (
            names[0] if len(names) == 1 else f"{len(names)} exports ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
        )
        show_error(RivetError(f"{who} cannot be planned: {message}", hint=hint))
    return bool(causes)


def _print(made: Plan, name: str, registry: Registry, out: Output) -> None:
    from rivet_core.artifact import plan_bytes

    owned = _renderer(name, registry)
    if name == "json":
        out.bytes(plan_bytes(made))
    elif owned is None:
        from rivet_core.render.plan_table import plan_table

        out.data("\n".join([plan_table(made, width=width()), *_goals(made, registry)]))
    else:
        out.data(_render(made, owned, registry))


def _goals(made: Plan, registry: Registry) -> list[str]:
    """Return when each declared tier is done, where there are several."""
    from rivet_core.render.goals import goal_lines
    from rivet_core.scheduling.goals import tier_goals
    from rivet_core.scheduling.plan_campaign import campaign_from_plan

    if len({export.tier for export in made.exports if export.status == "planned"}) < 2:
        return []
    policies = {name: found.record for name, found in registry.policies.items()}
    return goal_lines(tier_goals(campaign_from_plan(made.model_dump(mode="json")), policies, made.campaign.policy.name))


def _renderer(name: str, registry: Registry) -> Owned[PlanRenderer] | None:
    """Return who renders the plan, `None` for core's own formats. Raises `ConfigError` for a format that nobody offers."""
    from rivet_core.errors import ConfigError

    if name in CORE_FORMATS:
        return None
    if name not in registry.renderers:
        known = ", ".join([*CORE_FORMATS, *sorted(registry.renderers)])
        raise ConfigError(f"there is no plan format {name}", hint=f"the formats are {known}", code="usage")
    return registry.renderers[name]


def _render(made: Plan, owned: Owned[PlanRenderer], registry: Registry) -> str:
    from rivet_core.errors import PluginError, in_words
    from rivet_core.interrupts import is_ctrl_c
    from rivet_core.plugins.limit import Overdue, call_within

    render = registry.resolve(owned.record.render)
    try:
        text = call_within(RENDER_SECONDS, lambda: render(made.model_dump(mode="json")))
        fault = "" if isinstance(text, str) else f"it returned {type(text).__name__}, not text"
    except Overdue:
        fault = f"it took more than {RENDER_SECONDS:g} s"
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        fault = in_words(error)
    if fault:
        raise PluginError(
            f"the renderer {owned.record.name} of {owned.plugin.dist} failed: {fault}",
            hint="use --format table or json, and report it to the plugin's authors",
        )
    return str(text)
