"""`rivet init`: from a live database to a commented config that plans and runs as it stands."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output
from rivet_core.facts.plural import several

if TYPE_CHECKING:
    from rivet_core.cli.init_source import Given
    from rivet_core.facts import ExportSpec, ServerFacts, TableFacts
    from rivet_core.planning.propose import Proposal, Wish
    from rivet_core.plugins import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What was found in one database: the server, what to export, and what was left out with the reason."""

    source: str
    group: str
    server: ServerFacts
    proposals: list[Proposal]
    left: list[tuple[TableFacts, str]]


def init(
    source: Annotated[str | None, typer.Option("--source", help="The database's URL.", metavar="URL")] = None,
    source_env: Annotated[
        str | None, typer.Option("--source-env", help="The variable that holds the URL.", metavar="NAME")
    ] = None,
    schema: Annotated[
        list[str] | None, typer.Option("--schema", help="Only this schema (MySQL: database); may be repeated.", metavar="NAME")
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option("--include", help="Only tables that match; may be repeated.", metavar="GLOB")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", help="No tables that match; may be repeated.", metavar="GLOB")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", "-c", "--config", help="Where to write the config.", metavar="FILE")
    ] = DEFAULT_CONFIG,
    force: Annotated[bool, typer.Option("--force", help="Replace a config that is there.")] = False,
    discover: Annotated[bool, typer.Option("--discover", help="Print what was found as ranked JSON, write nothing.")] = False,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Inspect a database and write a config for it, with the reason for every choice. Reads catalogs only.

    Example: rivet init --source-env DATABASE_URL --schema public --exclude 'tmp_*'
    """
    from rivet_core.cli.init_source import read_source
    from rivet_core.cli.targets import refuse_inputs
    from rivet_core.errors import ConfigError
    from rivet_core.planning.propose import Wish
    from rivet_core.plugins import load_plugins

    out = Output(machine=json or discover, verbose=verbose, quiet=quiet)
    if not discover and os.path.lexists(output) and not force:
        raise ConfigError(f"{output} is already there", hint="--force replaces it, -o FILE writes another", code="exists")
    if not discover:
        refuse_inputs(output, {})
    registry = load_plugins()
    registry.require_usable()
    given = read_source(source, source_env, output, registry)
    wish = Wish(schemas=tuple(schema or ()), include=tuple(include or ()), exclude=tuple(exclude or ()))
    found = look_around(given, wish, output, registry)
    if discover:
        out.json(discovery_as_dict(found))
        return
    if not found.proposals:
        raise ConfigError(
            f"no table to export{_searched(wish)}",
            hint=found.left[0][1] if found.left else "check --schema, --include and --exclude, and the rights of the user",
            code="nothing_found",
        )
    write_config(_text(found, given), output, registry, force=force)
    if given.note:
        out.warn(given.note)
    if json:
        left = [{"table": table.name, "reason": reason} for table, reason in found.left]
        out.json({"config": str(output), "exports": [item.spec.name for item in found.proposals], "left_out": left})
        return
    out.note(
        f"{several(len(found.proposals), 'export')} written to {output}"
        + (f", {len(found.left)} left out" if found.left else "")
    )
    chosen = "" if output == DEFAULT_CONFIG else f" -c {output}"
    out.note(f"next: rivet check{chosen}, then rivet plan{chosen}")


def _searched(wish: Wish) -> str:
    asked = [f"schema {name}" for name in wish.schemas] + [f"include {glob}" for glob in wish.include]
    return f" ({', '.join(asked)})" if asked else ""


def look_around(given: Given, wish: Wish, output: Path, registry: Registry) -> Discovery:
    """Open the source, read its whole catalog and propose an export for each table that is wanted."""
    from dataclasses import replace
    from datetime import UTC, datetime

    from rivet_core.config import CampaignConfig
    from rivet_core.facts import ReadSpec
    from rivet_core.planning.propose import propose, sort_out
    from rivet_core.plugins import faults_of, quietly

    name = _word(given.database) or "source"
    config = CampaignConfig(path=output.absolute(), sha256="", sources={}, exports=(), state_url="")
    session = registry.open_source(given.kind, dict(given.opened), base=output.absolute().parent)

    def try_out(spec: ExportSpec) -> object:
        with faults_of(given.kind):
            return session.units(ReadSpec.of(spec), ())

    try:
        with faults_of(given.kind):
            session.limit(2)
            catalog = session.inspect([])
        if given.kind in ("mysql", "mariadb") and given.database and not wish.schemas:
            wish = replace(wish, schemas=(given.database,))
        taken, left = sort_out(catalog.tables.values(), wish)
        proposals = propose(
            taken,
            catalog.server,
            config,
            registry,
            source=name,
            as_of=datetime.now(UTC).replace(microsecond=0),
            try_out=try_out,
        )
    finally:
        quietly(session.close)
    host = catalog.server.address
    group = _word(Path(host).stem) if "/" in host else _word(host)
    return Discovery(source=name, group=group or name, server=catalog.server, proposals=proposals, left=left)


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()


def discovery_as_dict(found: Discovery) -> dict[str, object]:
    """Return what `--discover` prints: tables as a plan would rank them, the first one first."""
    ranked = sorted(found.proposals, key=lambda item: (-item.judgement.priority, item.spec.name))
    server = found.server
    return {
        "source": {
            "name": found.source,
            "engine": server.engine,
            "version": server.version,
            "address": server.address,
            "role": str(server.role),
            "group": found.group,
        },
        "tables": [{"rank": rank, **item.as_dict()} for rank, item in enumerate(ranked, start=1)],
        "left_out": [{"table": table.name, "kind": str(table.kind), "reason": reason} for table, reason in found.left],
    }


def _text(found: Discovery, given: Given) -> str:
    from rivet_core.planning.groups import capacity_of
    from rivet_core.render.config_text import config_text

    return config_text(
        found.proposals,
        found.left,
        source=found.source,
        kind=given.kind,
        options=given.written,
        group=found.group,
        capacity=capacity_of(None, [found.server], 4),
        server=found.server,
        command="rivet init",
    )


def write_config(text: str, output: Path, registry: Registry, *, force: bool) -> None:
    """Check the text as a config, then put it in place whole. Raises `ConfigError` when it cannot be written there."""
    from rivet_core.artifact.placing import write_whole
    from rivet_core.config import check_plugin_keys, load_config
    from rivet_core.errors import ConfigError

    def check(draft: Path) -> None:
        check_plugin_keys(load_config(draft), registry)

    try:
        write_whole(output, [text.encode()], check=check, replace=force)
    except FileExistsError:
        raise ConfigError(f"{output} is already there", hint="--force replaces it", code="exists") from None
