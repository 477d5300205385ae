"""`rivet check`: how each export would be read, and what becomes of every column."""

from __future__ import annotations

from typing import Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, ExportsOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output, width


def check(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on every column that does not arrive exactly.")] = False,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check each export: strategy, cursor, index use, the fidelity of every column, warnings. Reads catalogs only.

    Exit code 2 when a finding is an error, 3 when it is that a plugin cannot be used. -v lists every column.

    Example: rivet check --strict
    """
    from rivet_core.cli.campaign import check_names, load_campaign
    from rivet_core.planning.check import check_campaign
    from rivet_core.planning.finding import exit_code_of
    from rivet_core.render.check_view import check_text

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    loaded, registry = load_campaign(config, out)
    names = check_names(export or (), [spec.name for spec in loaded.exports])
    specs = [spec for spec in loaded.exports if not names or spec.name in names]
    report = check_campaign(loaded, specs, registry, strict=strict)
    code = exit_code_of(report.all_findings)
    if json:
        out.json(
            {
                "ok": not code,
                "exports": [item.as_dict() for item in report.exports],
                "findings": [finding.as_dict() for finding in report.findings],
            }
        )
    else:
        out.data(check_text(report, width=width(), every_column=verbose))
    if code:
        raise typer.Exit(code)
