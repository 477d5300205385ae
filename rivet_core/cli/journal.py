"""`rivet journal`: what happened in past campaigns."""

from __future__ import annotations

from typing import Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, MAX_LISTED, ConfigOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output, width


def journal(
    config: ConfigOption = DEFAULT_CONFIG,
    export: Annotated[str | None, typer.Option("-e", "--export", help="Only this export.", metavar="NAME")] = None,
    plan: Annotated[str | None, typer.Option("--plan-id", help="Only the campaign of this plan.", metavar="ID")] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MAX_LISTED, help="At most so many entries, the newest.", metavar="N")
    ] = 100,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show the journal: campaigns, exports that ended, warnings. Oldest first; writes nothing.

    Example: rivet journal --limit 20
    """
    from rivet_core.cli.datasets import choose
    from rivet_core.render.metrics_view import event_as_dict, journal_text

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = choose(config, [export] if export else None)
    with chosen.read_state() as state:
        found = state.events(export=export, plan_id=plan, limit=limit)
    if json:
        out.json({"events": [event_as_dict(event) for event in found]})
    elif found:
        out.data(journal_text(found, width=width()))
    else:
        out.note("the journal is empty")
