"""What `apply` and `run` share: events to a view, signals to a stop, the outcome to a summary and an exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rivet_core.cli.output import Output, colours, data_stream, json_text, width
from rivet_core.errors import EXIT_BROKEN_PIPE

if TYPE_CHECKING:
    from rivet_core.artifact import Plan
    from rivet_core.plugins import Registry
    from rivet_core.running import ApplyOptions
    from rivet_core.running.events import RunEvent, Sink
    from rivet_core.running.outcome import CampaignOutcome


def run_plan(plan: Plan, registry: Registry, options: ApplyOptions, out: Output, *, events: bool = False) -> CampaignOutcome:
    """Apply the plan while showing what happens: a live view on a terminal, plain lines elsewhere, NDJSON with `--events`."""
    from rivet_core.render.progress import PlainView
    from rivet_core.running.apply import apply_plan
    from rivet_core.stores import claim_stdout

    if any(_goes_to_stdout(item.spec) for item in plan.exports if not options.exports or item.name in options.exports):
        data_stream().flush()
        claim_stdout()
    if events:
        return apply_plan(plan, registry, options, lambda event: typer.echo(json_text(event.as_dict()), file=data_stream()))
    if out.quiet or out.machine:
        return apply_plan(plan, registry, options, _warnings_only(out))
    if os.isatty(2) and colours(2):
        from rivet_core.render.live_view import LiveView

        with LiveView(plan) as view:
            return apply_plan(plan, registry, options, view)
    return apply_plan(plan, registry, options, PlainView(out.note, verbose=out.verbose))


def _goes_to_stdout(spec: Mapping[str, Any]) -> bool:
    destination = spec.get("destination")
    return isinstance(destination, dict) and destination.get("type") == "stdout"


def _warnings_only(out: Output) -> Sink:
    from rivet_core.render.progress import stalled_text

    def show(event: RunEvent) -> None:
        if event.kind == "warning":
            out.warn(f"{event.export + ': ' if event.export else ''}{event.data.get('message', '')}")
        elif event.kind in ("paused", "resumed"):
            out.warn(str(event.data.get("message", "")))
        elif event.kind == "stalled":
            out.warn(stalled_text(event.data, "; "))

    return show


def _several(names: list[str]) -> str:
    """Name the exports that one error is about: one cause is said once, however many it stopped."""
    shown = ", ".join(names[:5])
    return names[0] if len(names) == 1 else f"{len(names)} exports ({shown}{', ...' if len(names) > 5 else ''})"


def finish(
    plan: Plan, outcome: CampaignOutcome, out: Output, *, summary_output: Path | None = None, events: bool = False
) -> None:
    """Print the summary, write it where asked, and end with the most serious exit code.

    Where stdout is a stream of `events` the summary for people goes to stderr.
    """
    from rivet_core.artifact.placing import write_whole
    from rivet_core.cli.apply import SUMMARY_HINT
    from rivet_core.cli.boundary import show_error
    from rivet_core.errors import RivetError
    from rivet_core.render.summary import summary_text

    if outcome.exit_code == EXIT_BROKEN_PIPE:
        raise typer.Exit(EXIT_BROKEN_PIPE)  # Whoever read the data has gone, on purpose as a rule: not a word.
    summary: dict[str, Any] = dict(outcome.as_dict())
    wanted = {export.name for export in outcome.exports}
    # Those among the exports that count as failed which no run could have saved.
    unplannable = [
        {"name": item.name, "status": "unplannable", "error": None if item.error is None else item.error.model_dump()}
        for item in plan.exports
        if item.status == "unplannable" and item.name in wanted
    ]
    code = outcome.exit_code
    summary = {**summary, "unplannable": unplannable}
    if summary_output is not None:
        text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
        write_whole(summary_output, [text.encode("utf-8", "surrogatepass")], hint=SUMMARY_HINT)
    if out.machine:
        out.json(summary)
    else:
        say = out.note if events else out.data
        say(summary_text(outcome, width=width()))
        failures: dict[tuple[str, str], list[str]] = {}
        for export in outcome.exports:
            if export.error is not None:
                message, hint = str(export.error.get("message", "")), str(export.error.get("hint", ""))
                failures.setdefault((message.removeprefix(f"{export.name}: "), hint), []).append(export.name)
        for (message, hint), names in failures.items():
            show_error(RivetError(f"{_several(names)}: {message}", hint=hint))
    if outcome.unrecorded:
        out.warn(outcome.warnings[-1])  # known only after the last event
    if code:
        raise typer.Exit(code)
