"""`rivet explain`: every reason of one export, with points, evidence, age, confidence and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output


def explain(
    export: Annotated[str, typer.Argument(help="The export's name.")],
    config: ConfigOption = DEFAULT_CONFIG,
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Read this plan file instead of planning now.", metavar="FILE")
    ] = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Explain one export: why it ranks where it does and what would move it.

    Example: rivet explain orders --plan plan.json
    """
    from rivet_core.artifact import read_plan
    from rivet_core.cli.campaign import check_names
    from rivet_core.cli.plan import make_plan, request
    from rivet_core.errors import EXIT_FAILED
    from rivet_core.render.explain_view import explanation

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    made = read_plan(plan) if plan is not None else make_plan(config, request(), out)[0]
    check_names([export], [item.name for item in made.exports])
    found = next(item for item in made.exports if item.name == export)
    if json:
        out.json(found.model_dump(mode="json"))
    else:
        out.data(explanation(made, found))
    if found.status == "unplannable":
        raise typer.Exit(EXIT_FAILED)
