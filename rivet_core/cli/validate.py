"""`rivet validate`: the files of each dataset against its manifests."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, ExportsOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output
from rivet_core.facts.plural import several


class Depth(StrEnum):
    """How far to look."""

    LIGHT = "light"
    SAMPLE = "sample"
    FULL = "full"


def validate(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    depth: Annotated[
        Depth, typer.Option("--depth", help="light: size; sample: also each footer's rows; full: also every checksum.")
    ] = Depth.LIGHT,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check that every file a manifest lists is there, whole, and as long as it says. Needs no source and no state.

    Exit code 5 on any difference. An export that has not run yet has no files, and so none that differ.

    Example: rivet validate -e orders --depth full
    """
    from rivet_core.cli.boundary import show_export_error
    from rivet_core.cli.datasets import choose
    from rivet_core.errors import EXIT_INTEGRITY, most_serious
    from rivet_core.running.validate import check_dataset

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = choose(config, export)
    reports = []
    for spec in chosen.specs:
        if spec.destination.type == "stdout":
            out.note(f"{spec.name}: goes to stdout, there are no files to look at")
            continue
        report = check_dataset(spec.name, lambda spec=spec: chosen.open(spec), depth.value)  # type: ignore[misc]
        reports.append(report)
        if not json:
            for finding in report.findings:
                out.data(f"{spec.name}: {finding.path} {finding.problem}")
            if report.error is not None:
                show_export_error(spec.name, report.error)
            out.note(
                f"{spec.name}: {report.word}"
                + (f", {several(report.files, 'file')} looked at ({depth})" if report.files else "")
            )
    codes = [report.error.exit_code if report.error else EXIT_INTEGRITY for report in reports if not report.ok]
    if json:
        out.json({"ok": not codes, "depth": str(depth), "exports": [report.as_dict() for report in reports]})
    if codes:
        raise typer.Exit(most_serious(codes))
