"""`rivet schema`: JSON Schemas of what people and machines write and read, and the table of reasons."""

from __future__ import annotations

from rivet_core.cli.application import Application
from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, QuietOption, UnreadConfigOption, VerboseOption
from rivet_core.cli.output import Output

app = Application(help="Print JSON Schemas and the reason table.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def config(
    config: ConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print the JSON Schema of rivet.yaml, installed plugins included: point your editor at it."""
    from rivet_core.cli.plugin_view import plugin_lists
    from rivet_core.config import config_schema
    from rivet_core.plugins import load_plugins

    block, allow = plugin_lists(config)
    _print(config_schema(load_plugins(block=block, allow=allow)))


@app.command()
def plan(
    config: UnreadConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print the JSON Schema of the plan file."""
    from rivet_core.artifact.schema import plan_schema

    _print(plan_schema())


@app.command()
def campaign(
    config: UnreadConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print the JSON Schema of the campaign file that `rivet simulate` reads."""
    from rivet_core.scheduling.campaign_file import campaign_schema

    _print(campaign_schema())


@app.command()
def reasons(
    config: UnreadConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print every reason code: what triggers it, its dimension, family, points and remedy."""
    from rivet_core.cli.reason_table import reasons_as_json, reasons_as_text

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    if json:
        out.json(reasons_as_json())
    else:
        out.data(reasons_as_text())


def _print(schema: object) -> None:
    import json as standard_json

    Output().data(standard_json.dumps(schema, indent=2, ensure_ascii=False))
