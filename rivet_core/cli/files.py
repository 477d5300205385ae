"""`rivet files`: the files that are the dataset now."""

from __future__ import annotations

from typing import Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output
from rivet_core.facts.plural import several


def files(
    export: Annotated[str, typer.Argument(help="The export's name.")],
    config: ConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the files that are an export's dataset now. Needs the destination only, no source and no state.

    Example: rivet files orders --json
    """
    from rivet_core.cli.campaign import check_names
    from rivet_core.config import load_config
    from rivet_core.plugins import load_plugins
    from rivet_core.render.quantities import size
    from rivet_core.running.layout import layout_of
    from rivet_core.running.publish import list_files

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    loaded = load_config(config)
    check_names([export], [spec.name for spec in loaded.exports])
    spec = next(spec for spec in loaded.exports if spec.name == export)
    registry = load_plugins(block=loaded.plugins.block, allow=loaded.plugins.allow)
    options, layout = layout_of(spec)
    target = registry.open_destination(spec.destination.type, options, base=loaded.base)
    found = list_files(target, layout)
    if json:
        out.json({"files": [file.as_dict() for file in found]})
        return
    for file in found:
        out.data(file.path)
    rows, bytes_ = sum(file.rows for file in found), sum(file.bytes for file in found)
    out.note(f"{several(len(found), 'file')}, {several(rows, 'row')}, {size(bytes_)}")
