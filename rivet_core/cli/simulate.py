"""`rivet simulate`: the schedule on a virtual clock, for policies, workers and capacities side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output, width
from rivet_core.facts import MAX_WORKERS

if TYPE_CHECKING:
    from rivet_core.api import SchedulingPolicy
    from rivet_core.scheduling.campaign_file import Campaign
    from rivet_core.scheduling.simulate import SimulationResult

AUTO = "auto"
DEFAULT_POLICY = "bottleneck"


def simulate(
    file: Annotated[Path, typer.Argument(help="A plan file or a campaign file.")],
    policy: Annotated[
        list[str] | None, typer.Option("--policy", help="The policy, or auto; may be repeated.", metavar="NAME")
    ] = None,
    workers: Annotated[
        list[int] | None, typer.Option("--workers", min=1, max=MAX_WORKERS, help="Workers; may be repeated.", metavar="N")
    ] = None,
    what_if: Annotated[bool, typer.Option("--what-if", help="Add the lower bound with each capacity raised by one.")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate a campaign with the same policies that apply runs. Reads the file, and of the config which plugins to use.

    Policy auto is the one that the plan holds; for a campaign file, what `planning.policy: auto` would choose.

    Example: rivet simulate plan.json --policy bottleneck --policy waves --workers 4 --workers 8
    """
    from rivet_core.scheduling.simulate import simulate_campaign, what_ifs_of

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    campaign, planned, auto = _read(file)
    records = _policies([auto if name == AUTO else name for name in policy or [planned]], config)
    counts = workers or [campaign.capacities.workers]
    results = [simulate_campaign(campaign, record, count) for record in records for count in counts]
    changes = {count: what_ifs_of(campaign, count) if what_if else () for count in counts}
    if json:
        # One run is the bare object of the campaign file's contract; several say which is which.
        rows = [result.as_dict() if len(results) == 1 else result.as_labelled_dict() for result in results]
        if what_if:
            extra = [
                [{"change": item.change, "lower_bound_seconds": item.lower_bound_seconds} for item in changes[result.workers]]
                for result in results
            ]
            rows = [{**row, "what_ifs": found} for row, found in zip(rows, extra, strict=True)]
        out.json(rows[0] if len(rows) == 1 else rows)
        return
    out.data(_text(results, campaign, [(item.change, item.lower_bound_seconds) for item in changes[counts[0]]]))


def _read(path: Path) -> tuple[Campaign, str, str]:
    """Return the campaign of a file, the policy for it when none is asked for, and the one that `auto` stands for."""
    import json

    from rivet_core.artifact import read_plan
    from rivet_core.artifact.bounded import read_object
    from rivet_core.errors import ConfigError
    from rivet_core.scheduling.campaign_file import read_campaign
    from rivet_core.scheduling.plan_campaign import campaign_from_plan

    try:
        raw = read_object(path)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", hint="name a plan or a campaign file") from None
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and "plan_version" in data:
        plan = read_plan(path)
        name = plan.campaign.policy.name
        return campaign_from_plan(plan.model_dump(mode="json")), name, name
    campaign = read_campaign(raw)
    return campaign, DEFAULT_POLICY, _automatic(campaign)


def _automatic(campaign: Campaign) -> str:
    from rivet_core.scheduling.automatic import automatic_policy
    from rivet_core.scheduling.resources import is_promised

    return automatic_policy(
        hand_set=any(job.wave is not None for job in campaign.jobs), promised=any(map(is_promised, campaign.jobs))
    )


def _policies(names: list[str], config: Path) -> list[SchedulingPolicy]:
    from rivet_core.cli.plugin_view import plugin_lists
    from rivet_core.errors import ConfigError
    from rivet_core.plugins import load_plugins

    block, allow = plugin_lists(config)
    registry = load_plugins(block=block, allow=allow)
    unknown = [name for name in names if name not in registry.policies]
    if unknown:
        raise ConfigError(
            f"there is no scheduling policy {unknown[0]}",
            hint=f"the policies are {AUTO}, {', '.join(sorted(registry.policies))}",
            code="unknown_policy",
        )
    return [registry.policies[name].record for name in dict.fromkeys(names)]


def _text(results: list[SimulationResult], campaign: Campaign, changes: list[tuple[str, float]]) -> str:
    from rivet_core.render.columns import align
    from rivet_core.render.goals import goal_lines
    from rivet_core.render.quantities import seconds
    from rivet_core.scheduling.gantt import draw_gantt
    from rivet_core.scheduling.goals import goal_of

    first = results[0]
    rows = [("policy", "workers", "makespan", "lower bound", "ratio", "violations", "fresh")]
    rows += [
        (
            result.policy,
            str(result.workers),
            seconds(result.makespan_seconds),
            seconds(result.bound.seconds),
            f"{result.ratio:.3f}",
            str(result.violations),
            "-" if result.fresh_mean_ratio is None else f"{result.fresh_mean_ratio:.3f}",
        )
        for result in results
    ]
    lines = [*align(rows, right=frozenset({1, 2, 3, 4, 5, 6})), "", f"binding: {first.bound.binding.explanation}"]
    goals = [goal_of(result) for result in results]
    lines += [line for goal in goals if len(goal.ends) > 1 for line in goal_lines([goal])]
    lines += [f"what if {change}: lower bound {seconds(value)}" for change, value in changes]
    if len(results) == 1:
        lines += ["", draw_gantt(first, campaign.jobs, width=width() or 100)]
    return "\n".join(lines)
