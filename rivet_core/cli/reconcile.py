"""`rivet reconcile`: the source against the files of each dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, ExportsOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output
from rivet_core.facts.plural import several

if TYPE_CHECKING:
    from rivet_core.cli.comparing import Sources
    from rivet_core.cli.datasets import Datasets
    from rivet_core.facts import ExportSpec
    from rivet_core.running.comparison import Reconciliation
    from rivet_core.running.stop import Stop
    from rivet_core.state import StateStore


def reconcile(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare what the source holds with the files of each dataset: rows and a digest of them, unit by unit.

    Results: match; partial (columns without a canonical text were left out); changed (rows added or moved past the run's
    boundary since, and nothing else); mismatch; unknown. Exit code 0 for match, partial and changed, 5 for a mismatch or a
    damaged manifest, 1 for unknown, 2 for the config, 3 for a plugin that cannot be used, 6 when the export is being compared
    already. Only a match moves the verified boundary. -v lists every unit.

    Example: rivet reconcile -e orders --json
    """
    from rivet_core.cli.comparing import sources_of
    from rivet_core.cli.datasets import choose
    from rivet_core.errors import most_serious
    from rivet_core.running.stop import Stop

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = choose(config, export)
    stop = Stop()
    reports = []
    with chosen.open_state() as state, sources_of(chosen, state, stop, out.warn) as sources:
        for spec in chosen.specs:
            if spec.destination.type == "stdout":
                out.note(f"{spec.name}: goes to stdout, there are no files to compare")
                continue
            report = compare(chosen, spec, sources, stop, lease=f"reconcile:{spec.name}")
            if stop.event.is_set():
                break
            remember(state, report)
            reports.append(report)
            if not json:
                say(out, report)
    if stop.event.is_set():
        out.warn(f"interrupted by {stop.why}: nothing was changed")
        raise typer.Exit(stop.code)
    code = most_serious(report.exit_code for report in reports)
    if json:
        out.json({"ok": not code, "exports": [report.as_dict() for report in reports]})
    if code:
        raise typer.Exit(code)


def compare(chosen: Datasets, spec: ExportSpec, sources: Sources, stop: Stop, *, lease: str) -> Reconciliation:
    """Reconcile one export under a lease; what keeps it from being looked at becomes its result."""
    from rivet_core.errors import RivetError
    from rivet_core.running.comparison import Reconciliation
    from rivet_core.running.reconcile import reconcile as reconcile_export

    try:
        dataset = chosen.open(spec)
        with sources.lend(spec, lease) as lent:
            return reconcile_export(spec, dataset, lent.session, stop.event, lent.gate)
    except RivetError as error:
        return Reconciliation(export=spec.name, error=error)


def remember(state: StateStore, report: Reconciliation) -> None:
    """Keep the result in the state; a match moves the verified boundary, if the committed one is still where it was."""
    from rivet_core.running.comparison import Result

    if report.run_id:
        state.record_reconcile(report.export, str(report.result), {"run_id": report.run_id, "units": len(report.units)})
    if report.result is Result.MATCH and report.cursor:
        state.verify(report.export, report.cursor)


def say(out: Output, report: Reconciliation) -> None:
    """Tell people about one export: the units that are no match on stdout, the result on stderr."""
    from rivet_core.cli.boundary import show_export_error
    from rivet_core.running.comparison import Result

    for unit in report.units:
        where = f"{report.export}: run {unit.slice.manifest.run_id}, unit {unit.slice.unit.index}"
        if unit.result is not Result.MATCH:
            out.data(f"{where}: {unit.result}: {unit.detail}")
        elif out.verbose and unit.files is not None:
            out.note(f"{where}: match, {several(unit.files.rows, 'row')}")
    if report.error is not None:
        show_export_error(report.export, report.error)
    looked = f", {several(report.rows, 'row')} in {several(len(report.units), 'unit')}" if report.units else ""
    without = f", without {', '.join(report.left_out)}" if report.left_out else ""
    out.note(f"{report.export}: {report.result}{looked}{without}")
