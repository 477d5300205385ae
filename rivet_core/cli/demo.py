"""`rivet demo`: the whole story on a sample shop, with no server and nothing but the install."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, JsonOption, QuietOption, UnreadConfigOption, VerboseOption
from rivet_core.cli.output import Output, width

EXPLAINED = "customers"
LISTED = "orders"
INCREMENTAL = ["orders", "customers", "audit_log"]
"""What the second run reads: only what is new in them."""
DEFAULT_DIRECTORY = Path("rivet-demo")


def demo(
    directory: Annotated[Path, typer.Argument(help="Where to put the shop, its config and the output.")] = DEFAULT_DIRECTORY,
    config: UnreadConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Build a small shop, plan it, explain one export, run it, list the files, then run again for what is new."""
    from rivet_core.artifact import write_plan
    from rivet_core.cli.plan import make_plan, request
    from rivet_core.cli.running import run_plan
    from rivet_core.demo.sample import build_shop
    from rivet_core.demo.story import add_rows
    from rivet_core.render.explain_view import explanation
    from rivet_core.render.plan_table import plan_table
    from rivet_core.render.summary import summary_text
    from rivet_core.running import ApplyOptions

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    shop = build_shop(directory)
    silent = Output(machine=True, quiet=True)

    def say(title: str, text: str) -> None:
        if not json:
            out.data(f"\n== {title}\n\n{text}")

    plan, registry = make_plan(shop.config, request(), silent)
    plan_file = shop.config.parent / "plan.json"
    write_plan(plan, plan_file)
    say(f"rivet plan -o plan.json   (in {directory})", plan_table(plan, width=width()))
    export = next(item for item in plan.exports if item.name == EXPLAINED)
    say(f"rivet explain {EXPLAINED} --plan plan.json", explanation(plan, export))
    first = run_plan(plan, registry, ApplyOptions(), silent)
    say("rivet apply plan.json", summary_text(first, width=width()))
    files = _files(shop.config, LISTED)
    say(f"rivet files {LISTED}", "\n".join(files))
    added = add_rows(shop)
    again, registry = make_plan(shop.config, request(INCREMENTAL), silent)
    second = run_plan(again, registry, ApplyOptions(), silent)
    say(
        f"rivet run -e {' -e '.join(INCREMENTAL)}   (after {added.orders} orders were written or moved on)",
        summary_text(second, width=width()),
    )
    if json:
        out.json({"directory": str(directory), "plan": str(plan_file), "first": first.as_dict(), "second": second.as_dict()})
    else:
        out.data(
            f"\nEverything is in {directory}: the shop, rivet.yaml to play with, plan.json, and the Parquet files under out/.\n"
            f"Next: cd {directory} && rivet plan"
        )
    code = first.exit_code or second.exit_code
    if code:
        raise typer.Exit(code)


def _files(config: Path, name: str) -> list[str]:
    from rivet_core.config import load_config
    from rivet_core.plugins import load_plugins
    from rivet_core.running.layout import layout_of
    from rivet_core.running.publish import list_files

    loaded = load_config(config)
    spec = next(spec for spec in loaded.exports if spec.name == name)
    options, layout = layout_of(spec)
    target = load_plugins().open_destination(spec.destination.type, options, base=loaded.base)
    return [file.path for file in list_files(target, layout)]
