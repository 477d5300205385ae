"""The commands of `rivet state` that change it. Each takes the lease of an export first: never under a run of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rivet_core.cli.options import DEFAULT_CONFIG, ConfigOption, ExportsOption, JsonOption, QuietOption, VerboseOption
from rivet_core.cli.output import Output
from rivet_core.facts.plural import several

if TYPE_CHECKING:
    from pathlib import Path

    from rivet_core.cli.datasets import Datasets
    from rivet_core.facts import Json
    from rivet_core.state import StateStore

NamedOption = Annotated[
    list[str] | None, typer.Option("-e", "--export", help="This export; must be given, may be repeated.", metavar="NAME")
]


def reset(
    config: ConfigOption = DEFAULT_CONFIG,
    export: NamedOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Start exports over: forget their cursor, boundaries and a broken-off run. The next run reads everything.

    The files stay: the next run replaces the dataset as a whole when it commits.

    Example: rivet state reset -e orders
    """
    from rivet_core.render.state_view import marks_text

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = _named(config, export, "start over")
    done: list[dict[str, Json]] = []
    with chosen.open_state() as state:
        for spec in chosen.specs:
            with _held(state, spec.name):
                before = state.cursor(spec.name)
                forgotten = state.reset(spec.name)
            done.append({"export": spec.name, "cursor_before": [mark.to_json() for mark in before], "forgotten_run": forgotten})
            run = f"; the broken-off run {forgotten} is forgotten" if forgotten else ""
            out.note(f"{spec.name}: was at {marks_text(before)}, starts over{run}")
    if json:
        out.json({"exports": done})


def accept(
    config: ConfigOption = DEFAULT_CONFIG,
    export: NamedOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Accept that the columns of exports changed: the next run of each goes on, whatever `on_schema_drift` says.

    It counts for one commit; drift after that is refused again. The journal keeps that it was accepted.

    Example: rivet state accept -e orders
    """
    from rivet_core.errors import ConfigError

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = _named(config, export, "may change their columns")
    done: list[dict[str, Json]] = []
    with chosen.open_state() as state:
        for spec in chosen.specs:
            current, _ = chosen.open(spec).read()
            if current is None:
                raise ConfigError(
                    f"{spec.name} has no dataset yet, there is nothing to differ from", hint="run it", code="no_dataset"
                )
            with _held(state, spec.name):
                state.accept_schema(spec.name, current.run_id)
            done.append({"export": spec.name, "run_id": current.run_id})
            out.note(f"{spec.name}: its next run may change the columns of {current.run_id}")
    if json:
        out.json({"exports": done})


def copy(
    target: Annotated[str, typer.Argument(help="URL of an empty state; ${env:NAME} keeps a password out of the shell.")],
    config: ConfigOption = DEFAULT_CONFIG,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Copy the whole state into another, empty database, such as from SQLite to PostgreSQL. Leases stay behind.

    Refused while an export of the config is being run. Put the new URL into `state.url` afterwards.

    Example: rivet state copy '${env:STATE_URL}'
    """
    from rivet_core.cli.datasets import choose
    from rivet_core.cli.targets import inputs_of_config, refuse_same, sqlite_file
    from rivet_core.errors import ConfigError
    from rivet_core.references import locate_state, resolve_text
    from rivet_core.state import open_state, state_exists
    from rivet_core.state.opening import refuse_foreign

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = choose(config, None)
    base = chosen.config.base
    try:
        url = locate_state(resolve_text(target, base=base), base)
    except ConfigError as error:
        raise ConfigError(f"the URL of the new state: {error.message}", hint=error.hint, code="state_url") from None
    if file := sqlite_file(url, base):
        refuse_same(file, inputs_of_config(chosen.config))
        refuse_foreign(file)
    if not state_exists(chosen.state_url(), base=base):
        raise ConfigError("there is no state to copy", hint="check state.url; the first run makes one", code="no_state")
    with chosen.open_state() as source, contextlib.ExitStack() as stack:
        for spec in chosen.specs:
            stack.enter_context(_held(source, spec.name))
        where = stack.enter_context(open_state(url, base=base))
        copied = source.copy_to(where)
    if json:
        out.json({"rows": copied})
    else:
        out.note(f"{several(sum(copied.values()), 'row')} copied; write the new URL to state.url")


def rebuild(
    config: ConfigOption = DEFAULT_CONFIG,
    export: ExportsOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Restore cursors and runs from the manifests at every destination, after the state database was lost.

    The dataset decides: a cursor that the state has and the dataset has not is cleared. Runs that are known stay as they are.

    Example: rivet state rebuild
    """
    from rivet_core.cli.datasets import choose
    from rivet_core.errors import EXIT_FAILED, RivetError, most_serious
    from rivet_core.render.state_view import marks_text
    from rivet_core.running.rebuild import remember

    out = Output(machine=json, verbose=verbose, quiet=quiet)
    chosen = choose(config, export)
    done: list[dict[str, Json]] = []
    codes: list[int] = []
    with chosen.open_state() as state:
        for spec in chosen.specs:
            if spec.destination.type == "stdout":
                continue
            try:
                with _held(state, spec.name):
                    found = remember(chosen.open(spec), spec)
                    before = state.cursor(spec.name)
                    added = state.restore(spec.name, found.runs, found.cursor)
            except RivetError as error:
                if error.code == "state_damaged":
                    raise
                codes.append(error.exit_code or EXIT_FAILED)
                done.append({"export": spec.name, "error": {"code": error.code, "message": error.message, "hint": error.hint}})
                out.warn(f"{spec.name}: left as it was: {error.message}")
                continue
            cursor: list[Json] = [mark.to_json() for mark in found.cursor]
            done.append({"export": spec.name, "runs": added, "cursor": cursor, "changed": before != found.cursor})
            out.note(
                f"{spec.name}: cursor {marks_text(found.cursor)}, {added} of {several(len(found.runs), 'run')} were unknown"
            )
    if json:
        out.json({"exports": done})
    if codes:
        raise typer.Exit(most_serious(codes))


def _named(config: Path, export: list[str] | None, what: str) -> Datasets:
    """Return the exports that were named. Raises `ConfigError` for none: that all are meant must be said."""
    from rivet_core.cli.datasets import choose
    from rivet_core.errors import ConfigError

    chosen = choose(config, export)
    if export:
        return chosen
    names = [spec.name for spec in chosen.specs]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    raise ConfigError(f"name the exports that {what}", hint=f"-e NAME for each of: {', '.join(names[:8])}{more}", code="usage")


@contextlib.contextmanager
def _held(state: StateStore, export: str) -> Iterator[None]:
    """Hold an export's lease. Raises `BusyError` while a run has it."""
    lease = state.leases.acquire(f"export:{export}")
    try:
        yield
    finally:
        state.leases.release(lease)
