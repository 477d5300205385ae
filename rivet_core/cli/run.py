"""`rivet run`: plan and apply in one go, for CI and cron."""

from __future__ import annotations

from rivet_core.cli.apply import (
    SUMMARY_HINT,
    EventsOption,
    LockOption,
    PolicyOption,
    PoolOption,
    ResumeOption,
    StallOption,
    SummaryOption,
)
from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, ExportsOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output
from rivet_core.facts.plural import several


def run(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    pool: PoolOption = None,
    policy: PolicyOption = None,
    resume: ResumeOption = False,
    lock_wait: LockOption = 0.0,
    stall_after: StallOption = 5.0,
    summary_output: SummaryOption = None,
    events: EventsOption = False,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Plan, then apply the plan at once.

    Example: rivet run --json
    """
    from rivet_core.artifact.placing import check_place
    from rivet_core.cli.plan import make_plan, request
    from rivet_core.cli.running import finish, run_plan
    from rivet_core.cli.targets import inputs_of_plan, refuse_inputs
    from rivet_core.running import ApplyOptions

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    plan, registry = make_plan(config, request(export), out)
    if summary_output is not None:
        refuse_inputs(summary_output, inputs_of_plan(plan))
        check_place(summary_output, hint=SUMMARY_HINT)
    options = ApplyOptions(
        exports=tuple(export or ()),
        pool=pool,
        policy=policy,
        resume=resume,
        lock_wait=lock_wait,
        stall_seconds=stall_after * 60.0,
    )
    out.note(f"plan {plan.plan_id}: policy {plan.campaign.policy.name}, {several(plan.campaign.policy.workers, 'worker')}")
    outcome = run_plan(plan, registry, options, out, events=events)
    finish(plan, outcome, out, summary_output=summary_output, events=events)
