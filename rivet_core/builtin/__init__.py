"""Core's own plugin, found through its own entry point and admitted like any other: defaults are plugins too.

Hooks only; everything heavy is a lazy reference.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet_core.api import (
    CursorClassifier,
    DestinationSpec,
    PlanRenderer,
    ReasonEmitter,
    SchedulingPolicy,
    ScoringRule,
    SourceSpec,
    hookimpl,
)


@hookimpl
def rivet_sources() -> Sequence[SourceSpec]:
    """SQLite, so that the demo needs no server."""
    return (
        SourceSpec(
            name="sqlite",
            summary="a SQLite database file, opened read only",
            options="rivet_core.builtin.sqlite.options:SqliteOptions",
            connect="rivet_core.builtin.sqlite.session:connect",
            schemes=("sqlite",),
        ),
    )


@hookimpl
def rivet_destinations() -> Sequence[DestinationSpec]:
    """The local disk, standard output, and whatever fsspec can open."""
    return (
        DestinationSpec(
            name="local",
            summary="a directory on this machine",
            options="rivet_core.builtin.local:LocalOptions",
            open="rivet_core.builtin.local:open_local",
        ),
        DestinationSpec(
            name="stdout",
            summary="standard output: one export's data and nothing else",
            options="rivet_core.builtin.stdout:StdoutOptions",
            open="rivet_core.builtin.stdout:open_stdout",
        ),
        DestinationSpec(
            name="fsspec",
            summary="any store that fsspec can open (gs, abfs, sftp, webdav, memory, ...), with weaker guarantees",
            options="rivet_core.builtin.fsspec:FsspecOptions",
            open="rivet_core.builtin.fsspec:open_fsspec",
        ),
    )


@hookimpl
def rivet_cursor_classifiers() -> Sequence[CursorClassifier]:
    """Verdicts from catalog facts alone."""
    return (
        CursorClassifier(
            name="catalog",
            summary="type, order, index, uniqueness, nulls and origin of values, from the catalog",
            classify="rivet_core.builtin.classifiers:classify",
        ),
    )


@hookimpl
def rivet_scoring_rules() -> Sequence[ScoringRule]:
    """The rules of docs/reasons, one record per family."""
    from rivet_core.builtin.rules import builtin_rules

    return builtin_rules()


@hookimpl
def rivet_reason_emitters() -> Sequence[ReasonEmitter]:
    """What must not run together, and what binds the campaign."""
    from rivet_core.builtin.emitters import builtin_emitters

    return builtin_emitters()


@hookimpl
def rivet_scheduling_policies() -> Sequence[SchedulingPolicy]:
    """The policies of docs/policies.md."""
    from rivet_core.builtin.policies import builtin_policies

    return builtin_policies()


@hookimpl
def rivet_renderers() -> Sequence[PlanRenderer]:
    """The plan as a page for a browser; the table and the JSON are commands of their own."""
    return (
        PlanRenderer(
            name="html",
            summary="one page without scripts, every reason in it",
            media_type="text/html",
            render="rivet_core.render.html:render_html",
        ),
    )
