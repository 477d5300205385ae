"""`rivet repair`: what disagrees with the source is exported again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, ExportsOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output
from rivet_core.facts.plural import several

if TYPE_CHECKING:
    from rivet_core.cli.comparing import Sources
    from rivet_core.cli.datasets import Datasets
    from rivet_core.errors import RivetError
    from rivet_core.facts import ExportSpec, Json
    from rivet_core.running.comparison import Reconciliation
    from rivet_core.running.repair import Repaired
    from rivet_core.running.stop import Stop
    from rivet_core.state import StateStore


def repair(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    execute: Annotated[bool, typer.Option("--execute", help="Export the listed units again; without it nothing is.")] = False,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Reconcile, and list the units that disagree with the source; with --execute export exactly these again.

    The new files take the place of the old ones all at once; readers see the dataset of before or of after. `rivet gc` removes
    the files that were replaced. Exit code 0 when all is well, or would be with --execute; 1 for what could not be told, 5 when
    units still disagree after the repair, 6 when a run holds the export.

    Example: rivet repair -e orders --execute
    """
    from rivet_core.cli.comparing import sources_of
    from rivet_core.cli.datasets import choose
    from rivet_core.errors import most_serious
    from rivet_core.running.stop import Stop

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = choose(config, export)
    stop = Stop()
    reports: list[Report] = []
    with chosen.open_state() as state, sources_of(chosen, state, stop, out.warn) as sources:
        for spec in chosen.specs:
            if spec.destination.type == "stdout":
                out.note(f"{spec.name}: goes to stdout, there are no files to repair")
                continue
            report = _repair(chosen, spec, sources, state, stop, execute=execute)
            if stop.event.is_set():
                break
            reports.append(report)
            if not json:
                _say(out, report, execute=execute)
    if stop.event.is_set():
        out.warn(f"interrupted by {stop.why}: what was repaired before stays, all else is as it was")
        raise typer.Exit(stop.code)
    code = most_serious(report.exit_code for report in reports)
    if json:
        out.json({"ok": not code, "executed": execute, "exports": [report.as_dict() for report in reports]})
    elif not execute and any(report.before is not None and report.before.bad for report in reports):
        out.note("nothing was exported again: give --execute")
    if code:
        raise typer.Exit(code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found of one export, what was done, and how it compares then."""

    export: str
    before: Reconciliation | None = None
    repaired: Repaired | None = None
    after: Reconciliation | None = None
    error: RivetError | None = None

    @property
    def exit_code(self) -> int:
        """0 unless something is left to worry about; a mismatch found without `--execute` is what was asked for."""
        if self.error is not None:
            return self.error.exit_code
        if self.after is not None:
            return self.after.exit_code
        return self.before.exit_code if self.before is not None and not self.before.bad else 0

    def as_dict(self) -> dict[str, Json]:
        """Return the entry of `rivet repair --json`."""
        before = self.before
        found: dict[str, Json] = {
            "export": self.export,
            "result": str(before.result) if before is not None else "unknown",
            "units": [unit.as_dict() for unit in before.bad] if before is not None else [],
            "repaired": self.repaired.as_dict() if self.repaired is not None else None,
            "after": str(self.after.result) if self.after is not None else None,
        }
        error = self.error or (before.error if before is not None else None)
        if error is not None:
            found["error"] = {"code": error.code, "message": error.message, "hint": error.hint}
        return found


def _repair(chosen: Datasets, spec: ExportSpec, sources: Sources, state: StateStore, stop: Stop, *, execute: bool) -> Report:
    from rivet_core.cli.reconcile import remember
    from rivet_core.errors import RivetError
    from rivet_core.running.ownership import Ownership
    from rivet_core.running.reconcile import reconcile
    from rivet_core.running.repair import check_repairable, repair

    before = None
    try:
        dataset = chosen.open(spec)
        with sources.lend(spec, f"{'export' if execute else 'reconcile'}:{spec.name}") as lent:
            mine = Ownership(spec.name, state.leases, lent.lease)
            before = reconcile(spec, dataset, lent.session, stop.event, lent.gate)
            remember(state, before)
            if not before.bad:
                return Report(export=spec.name, before=before)
            check_repairable(spec, before)
            if not execute:
                return Report(export=spec.name, before=before)
            done = repair(spec, dataset, lent.session, before, stop, mine=mine.check, gate=lent.gate)
            state.record_repair(spec.name, {"run_id": before.run_id, **done.as_dict()})
            after = reconcile(spec, dataset, lent.session, stop.event, lent.gate)
            remember(state, after)
            return Report(export=spec.name, before=before, repaired=done, after=after)
    except RivetError as error:
        return Report(export=spec.name, before=before, error=error)


def _say(out: Output, report: Report, *, execute: bool) -> None:
    from rivet_core.cli.boundary import show_export_error
    from rivet_core.render.quantities import size

    before = report.before
    for unit in before.bad if before is not None else ():
        out.data(f"{report.export}: run {unit.slice.manifest.run_id}, unit {unit.slice.unit.index}: {unit.detail}")
    error = report.error or (before.error if before is not None else None)
    if error is not None:
        show_export_error(report.export, error)
    elif report.repaired is not None and report.after is not None:
        done = report.repaired
        what = f"{several(done.units, 'unit')} exported again, {several(done.rows, 'row')}, {size(done.bytes)}"
        out.note(f"{report.export}: {what}; now: {report.after.result}")
    elif before is not None:
        todo = f", {several(len(before.bad), 'unit')} to export again" if before.bad and not execute else ", nothing to repair"
        out.note(f"{report.export}: {before.result}{todo}")
