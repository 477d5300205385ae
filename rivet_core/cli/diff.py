"""`rivet diff`: which reason moved which rank between two plans."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, JsonOption, QuietOption, UnreadConfigOption, VerboseOption
from rivet_core.cli.output import Output


def diff(
    a: Annotated[Path, typer.Argument(help="The older plan.")],
    b: Annotated[Path, typer.Argument(help="The newer plan.")],
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 1 if the plans differ.")] = False,
    config: UnreadConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare two plans. Time stamps and ids are not differences.

    Example: rivet diff monday.json tuesday.json
    """
    from rivet_core.artifact import read_plan
    from rivet_core.artifact.diff import diff_plans
    from rivet_core.errors import EXIT_FAILED
    from rivet_core.render.diff_view import diff_text

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    found = diff_plans(read_plan(a), read_plan(b))
    if json:
        out.json(found.as_dict())
    else:
        out.data(diff_text(found))
    if exit_code and found.differs:
        raise typer.Exit(EXIT_FAILED)
