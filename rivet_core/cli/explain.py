"""`rivet explain`: every reason of one export, with points, evidence, age, confidence and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output

if TYPE_CHECKING:
    from rivet_core.artifact import ExportPlan, Plan


def explain(
    export: Annotated[str, typer.Argument(help="The export's name.")],
    config: ConfigOption = DEFAULT_CONFIG,
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Read this plan file instead of planning now.", metavar="FILE")
    ] = None,
    why_not: Annotated[bool, typer.Option("--why-not", help="Say what holds it back, counted by cause.")] = False,
    recompute: Annotated[bool, typer.Option("--recompute", help="Fold the plan's reasons again and compare.")] = False,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Explain one export: why it ranks where it does and what would move it.

    Example: rivet explain orders --plan plan.json
    """
    from rivet_core.artifact import read_plan
    from rivet_core.cli.campaign import check_names
    from rivet_core.cli.plan import make_plan, request
    from rivet_core.errors import EXIT_FAILED
    from rivet_core.render.explain_view import explanation

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    made = read_plan(plan) if plan is not None else make_plan(config, request(), out)[0]
    check_names([export], [item.name for item in made.exports])
    found = next(item for item in made.exports if item.name == export)
    if recompute:
        _recompute(found, out)
    elif why_not:
        _why_not(made, found, out)
    elif json:
        out.json(found.model_dump(mode="json"))
    else:
        out.data(explanation(made, found))
    if found.status == "unplannable":
        raise typer.Exit(EXIT_FAILED)


def _why_not(plan: Plan, export: ExportPlan, out: Output) -> None:
    from rivet_core.planning.breakdown import ahead_of, shares
    from rivet_core.render.why_not import why_not

    if not out.machine:
        out.data(why_not(plan, export))
        return
    ranked = export.scores is not None
    out.json(
        {
            "name": export.name,
            "priority": None if export.priority_score is None else round(export.priority_score * 10),
            "neutral": 500,
            "causes": [
                {"cause": share.cause, "codes": list(share.codes), "points": share.points, "remedies": list(share.remedies)}
                for share in shares(export)
            ],
            "ahead": [{"name": item.name, "because": item.because} for item in (ahead_of(plan, export) if ranked else ())],
        }
    )


def _recompute(export: ExportPlan, out: Output) -> None:
    """Compare the stored numbers with those folded from the reasons; a difference is an integrity error."""
    from rivet_core.errors import IntegrityError
    from rivet_core.planning.breakdown import recompute_exports

    found = recompute_exports([export])
    if out.machine:
        out.json(
            {
                "agrees": all(item.agrees for item in found),
                "exports": [
                    {
                        "name": item.name,
                        "stored": {**item.stored, "priority": item.stored_priority},
                        "folded": {**item.folded, "priority": item.folded_priority},
                    }
                    for item in found
                ],
            }
        )
    else:
        for item in found:
            folded = ", ".join(f"{name} {value}" for name, value in item.folded.items())
            verdict = "agrees with the plan" if item.agrees else f"the plan says {item.stored}, {item.stored_priority}"
            out.data(f"{item.name}: folded again {folded}, priority {item.folded_priority}: {verdict}")
    wrong = [item.name for item in found if not item.agrees]
    if wrong and not out.machine:
        raise IntegrityError(f"{wrong[0]}: its scores are not those of its reasons", hint="plan again")
    if wrong:
        raise typer.Exit(IntegrityError.exit_code)
