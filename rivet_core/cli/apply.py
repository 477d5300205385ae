"""`rivet apply`: run a plan, or a config as it stands."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rivet_core.cli.options import (
    DEFAULT_CONFIG,
    YEAR_MINUTES,
    ConfigOption,
    ExportsOption,
    JsonOption,
    QuietOption,
    VerboseOption,
    a_number,
)
from rivet_core.cli.output import Output
from rivet_core.facts import MAX_WORKERS
from rivet_core.facts.plural import several

if TYPE_CHECKING:
    from rivet_core.artifact import Plan
    from rivet_core.plugins import Registry
    from rivet_core.running import ApplyOptions
    from rivet_core.running.gates import Statement

PoolOption = Annotated[
    int | None,
    typer.Option("--pool", min=1, max=MAX_WORKERS, help="Run so many at once without barriers between waves.", metavar="N"),
]
PolicyOption = Annotated[str | None, typer.Option("--policy", help="The scheduling policy, by name.", metavar="NAME")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Read only what an interrupted run left undone.")]
LockOption = Annotated[
    float,
    typer.Option(
        "--lock-wait",
        min=0.0,
        max=YEAR_MINUTES * 60.0,
        callback=a_number,
        help="Wait so long for another run of the same export.",
        metavar="SECONDS",
    ),
]
StallOption = Annotated[
    float,
    typer.Option(
        "--stall-after",
        min=0.0,
        max=YEAR_MINUTES,
        callback=a_number,
        help="Say who waits for what after so long without rows, 0: never.",
        metavar="MINUTES",
    ),
]
SummaryOption = Annotated[
    Path | None, typer.Option("--summary-output", help="Write the summary as JSON here too.", metavar="FILE")
]
SUMMARY_HINT = "choose another file"
EventsOption = Annotated[bool, typer.Option("--events", help="Print every event as one line of JSON on stdout.")]


def apply(
    target: Annotated[Path | None, typer.Argument(help="A plan file or a config; the config of -c when left out.")] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    pool: PoolOption = None,
    policy: PolicyOption = None,
    resume: ResumeOption = False,
    force: Annotated[bool, typer.Option("--force", help="Run although the plan is old or a cursor moved; recorded.")] = False,
    lock_wait: LockOption = 0.0,
    stall_after: StallOption = 5.0,
    allow_plugin_drift: Annotated[
        bool, typer.Option("--allow-plugin-drift", help="Run with other versions of the plan's plugins.")
    ] = False,
    summary_output: SummaryOption = None,
    events: EventsOption = False,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a campaign: a plan with the policy stored in it, or a config in its own order.

    Example: rivet apply plan.json
    """
    from dataclasses import replace

    from rivet_core.artifact.canonical import looks_like_plan
    from rivet_core.artifact.placing import check_place
    from rivet_core.cli.running import finish, run_plan
    from rivet_core.cli.targets import inputs_of_plan, refuse_inputs
    from rivet_core.running import ApplyOptions

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    place = target if target is not None else config
    options = ApplyOptions(
        exports=tuple(export or ()),
        pool=pool,
        policy=policy,
        resume=resume,
        force=force,
        lock_wait=lock_wait,
        stall_seconds=stall_after * 60.0,
        allow_plugin_drift=allow_plugin_drift,
    )
    if looks_like_plan(place):
        plan, registry = _from_plan(place, options, out)
        options = replace(options, statements=_statements(plan))
    else:
        plan, registry = _from_config(place, options, out)
    if summary_output is not None:
        refuse_inputs(summary_output, {**inputs_of_plan(plan), "the plan": place})
        check_place(summary_output, hint=SUMMARY_HINT)
    outcome = run_plan(plan, registry, options, out, events=events)
    finish(plan, outcome, out, summary_output=summary_output, events=events)


def _from_plan(path: Path, options: ApplyOptions, out: Output) -> tuple[Plan, Registry]:
    """Read a plan and load the plugins that it names, no others: they made it, they run it."""
    from rivet_core.artifact import read_plan
    from rivet_core.cli.campaign import check_names
    from rivet_core.plugins import load_plugins

    plan = read_plan(path)
    check_names(options.exports, [item.name for item in plan.exports])
    names = {lock.name for lock in plan.plugins}
    registry = load_plugins(names=names)
    if options.policy not in (None, "auto", *registry.policies):
        # A policy asked for by hand may come from a plugin that the plan did not need; that one is loaded besides.
        offered = load_plugins().policies.get(str(options.policy))
        if offered is not None:
            registry = load_plugins(names={*names, offered.plugin.name})
    registry.require_usable()
    out.note(f"plan {plan.plan_id}: policy {plan.campaign.policy.name}, {several(plan.campaign.policy.workers, 'worker')}")
    return plan, registry


def _statements(plan: Plan) -> dict[str, Statement]:
    """Return what exports read in the plan's config as it is now (PA6).

    Nothing where it is gone or cannot be loaded any more: the plan needs no config.
    """
    from rivet_core.config import load_config
    from rivet_core.errors import RivetError
    from rivet_core.running.gates import is_changed

    if not is_changed(plan) and not any(item.spec.get("query") for item in plan.exports):  # it may stand in a file of its own
        return {}
    with contextlib.suppress(RivetError, OSError):
        return {spec.name: (spec.table, spec.query) for spec in load_config(Path(plan.config.path)).exports}
    return {}


def _from_config(path: Path, options: ApplyOptions, out: Output) -> tuple[Plan, Registry]:
    """Plan in the config's own order: hand-set waves as they stand, none set means one wave."""
    from rivet_core.cli.campaign import check_names, load_campaign
    from rivet_core.planning.build import build_plan
    from rivet_core.planning.request import PlanRequest

    config, registry = load_campaign(path, out)
    names = check_names(options.exports, [spec.name for spec in config.exports])
    request = PlanRequest(
        exports=names, config_order=True, pool=options.pool is not None, policy=options.policy, workers=options.pool
    )
    return build_plan(config, registry, request), registry
