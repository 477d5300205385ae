"""`rivet metrics`: how long runs took, against what was predicted."""

from __future__ import annotations

from typing import Annotated

import typer

from rivet_core.cli.options import (
    DEFAULT_CONFIG,
    MAX_LISTED,
    ConfigOption,
    ExportsOption,
    JsonOption,
    QuietOption,
    VerboseOption,
)
from rivet_core.cli.output import Output, width


def metrics(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MAX_LISTED, help="At most so many runs, the newest.", metavar="N")
    ] = 50,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show runs with their prediction, and how far predictions could be trusted. Writes nothing.

    Example: rivet metrics -e orders
    """
    from rivet_core.cli.datasets import choose
    from rivet_core.render.metrics_view import grade_as_dict, grades, metric_as_dict, metrics_text, overall

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = choose(config, export)
    names = {spec.name for spec in chosen.specs}
    with chosen.read_state() as state:
        if export:
            found = [metric for name in sorted(names) for metric in state.metrics(name, limit)]
        else:
            found = [metric for metric in state.metrics(limit=limit) if metric.export in names]
    found = sorted(found, key=lambda metric: metric.at, reverse=True)[:limit]
    if json:
        graded = {name: grade_as_dict(one) for name, one in grades(found).items()}
        out.json({"runs": [metric_as_dict(one) for one in found], "grades": graded, "overall": grade_as_dict(overall(found))})
    elif found:
        out.data(metrics_text(found, width=width()))
    else:
        out.note("no run was graded yet")
