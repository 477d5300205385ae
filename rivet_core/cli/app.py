"""The typer application: which commands there are, in the order people meet them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import typer.core

from rivet_core import __version__
from rivet_core.cli import (
    apply,
    check,
    demo,
    diff,
    doctor,
    explain,
    files,
    gc,
    init,
    journal,
    metrics,
    plan,
    plugins,
    reconcile,
    repair,
    run,
    schema,
    simulate,
    state,
    validate,
)
from rivet_core.cli.application import Application
from rivet_core.cli.output import Output
from rivet_core.errors import InterruptedByUser


class Commands(typer.core.TyperGroup):
    """The group of all commands. Ctrl-C leaves it as an error like any other: typer would end with 130 and not a word."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptedByUser("interrupted") from None


app = Application(
    name="rivet",
    cls=Commands,
    help="Plan and run table extraction from shared databases: what first, what later, what alone, and why.",
    epilog="Start with `rivet demo`; then `rivet init` writes a config for your database, and `rivet plan` plans it.",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=False,
    invoke_without_command=True,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"rivet {__version__}")
        raise typer.Exit


@app.callback()
def entry(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Plan and run table extraction from shared databases: what first, what later, what alone, and why."""
    if context.invoked_subcommand is None:
        Output().data(context.get_help())


app.command()(demo.demo)
app.command()(init.init)
app.command()(doctor.doctor)
app.command()(check.check)
app.command()(plan.plan)
app.command()(explain.explain)
app.command()(diff.diff)
app.command()(simulate.simulate)
app.command()(apply.apply)
app.command()(run.run)
app.command()(files.files)
app.command()(validate.validate)
app.command()(reconcile.reconcile)
app.command()(repair.repair)
app.command()(gc.gc)
app.add_typer(state.app, name="state")
app.command()(metrics.metrics)
app.command()(journal.journal)
app.add_typer(schema.app, name="schema")
app.add_typer(plugins.app, name="plugins")
