"""`rivet state`: what Rivet remembers between runs. Looking at it writes nothing; what changes it is in `state_change`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rivet_core.cli import state_change
from rivet_core.cli.application import Application
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

if TYPE_CHECKING:
    from rivet_core.render.state_view import ExportState

app = Application(help="Look at, reset, copy or rebuild what Rivet remembers between runs.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def state(
    context: typer.Context,
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show how far each export is, as `rivet state progression` does; or look closer, reset, copy or rebuild the state.

    Example: rivet state --json
    """
    command = context.invoked_subcommand
    if command is None:
        progression(config, export, json, verbose, quiet)
    elif export or json or verbose or quiet or config != DEFAULT_CONFIG:
        from rivet_core.errors import ConfigError

        raise ConfigError("options of a subcommand stand behind it", hint=f"rivet state {command} ... --json", code="usage")


@app.command()
def show(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show each export's cursor, its last run, whether a run of it is under way and whether a reconcile is due. Writes nothing.

    A reconcile is due for an export with `reconcile_required` from each commit on, until `rivet reconcile` finds it well.

    Example: rivet state show --json
    """
    from rivet_core.render.state_view import state_text

    found = _look(config, export, limit=1)
    out = Output(machine=json, verbose=verbose, quiet=quiet)
    if json:
        out.json({"exports": [item.as_dict() for item in found]})
    else:
        out.data(state_text(found, width=width()))


@app.command()
def progression(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show how far each export is: observed (read by a run), committed by one, verified by a reconcile.

    Example: rivet state progression -e orders
    """
    from rivet_core.render.state_view import progression_text

    found = _look(config, export, limit=1)
    out = Output(machine=json, verbose=verbose, quiet=quiet)
    if json:
        out.json({"exports": [item.progression() for item in found]})
    else:
        out.data(progression_text(found, width=width()))


@app.command()
def runs(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MAX_LISTED, help="At most so many runs of each export.", metavar="N")
    ] = 20,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the runs of each export, newest first.

    Example: rivet state runs -e orders --limit 5
    """
    from rivet_core.render.state_view import run_as_dict, runs_text

    found = _look(config, export, limit=limit)
    out = Output(machine=json, verbose=verbose, quiet=quiet)
    if json:
        out.json({"exports": [{"export": item.export, "runs": [run_as_dict(run) for run in item.runs]} for item in found]})
    else:
        out.data(runs_text(found, width=width()))


app.command()(state_change.reset)
app.command()(state_change.accept)
app.command()(state_change.copy)
app.command()(state_change.rebuild)


def _look(config: ConfigOption, export: ExportsOption, *, limit: int) -> list[ExportState]:
    from rivet_core.cli.datasets import choose
    from rivet_core.render.state_view import look

    chosen = choose(config, export)
    with chosen.read_state() as state:
        required = {spec.name for spec in chosen.specs if spec.reconcile_required}
        return look(state, [spec.name for spec in chosen.specs], limit=limit, required=required)
