"""`rivet gc`: files that no reader and no resume needs."""

from __future__ import annotations

from typing import Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, ExportsOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output
from rivet_core.facts.plural import several


def gc(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    execute: Annotated[bool, typer.Option("--execute", help="Delete what was listed; without it nothing is.")] = False,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the files of broken-off runs and of runs older than `keep_runs`, and delete them with --execute.

    Nothing is touched of a dataset as it is now, of a run that is under way or can be resumed, of a run that this state does
    not know and that is younger than a day, and outside of an export's own directory. -v says why each run was spared.

    Example: rivet gc -e orders --execute
    """
    from rivet_core.cli.datasets import choose
    from rivet_core.errors import most_serious
    from rivet_core.render.quantities import size
    from rivet_core.running.gc import collect

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = choose(config, export)
    # Only deleting needs leases, so a listing leaves the state untouched.
    with chosen.open_state() if execute else chosen.read_state() as state:
        reports = [
            collect(spec, lambda spec=spec: chosen.open(spec), state, execute=execute)  # type: ignore[misc]
            for spec in chosen.specs
            if spec.destination.type != "stdout"
        ]
    codes = [report.error.exit_code for report in reports if report.error is not None]
    if json:
        out.json({"executed": execute, "exports": [report.as_dict() for report in reports]})
    else:
        for report in reports:
            for path in report.paths:
                out.data(path)
            if verbose:
                for run, why in report.spared.items():
                    out.note(f"{report.export}: spared run {run}: it {why}")
            if report.error is not None:
                out.warn(f"{report.export}: skipped, nothing was deleted: {report.error.message}")
        total = sum(len(report.paths) for report in reports)
        what = "deleted" if execute else "would be deleted"
        out.note(f"{several(total, 'file')}, {size(sum(report.bytes for report in reports))} {what}")
        if total and not execute:
            out.note("nothing was deleted: give --execute")
    if codes:
        raise typer.Exit(most_serious(codes))
