"""`load_config`: from a file to a `CampaignConfig`, or to one error that names the line."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from rivet_core.config.advice import describe
from rivet_core.config.campaign import CampaignConfig, GroupConfig, PlanningConfig, PluginsConfig, Suppression
from rivet_core.config.checks import check_dependencies, check_names, check_places
from rivet_core.config.document import Document, read_document
from rivet_core.config.expansion import read_values
from rivet_core.config.exports import Surroundings, destination_node, resolve_export
from rivet_core.config.model import RootModel
from rivet_core.config.problems import raise_first
from rivet_core.config.sections import suggest
from rivet_core.config.sources import resolve_sources
from rivet_core.errors import ConfigError
from rivet_core.facts import ExportSpec, Json
from rivet_core.references import locate_state


def load_config(path: Path, environ: Mapping[str, str] | None = None) -> CampaignConfig:
    """Read, check and resolve a config file; opens nothing but the file and its query files.

    Raises `ConfigError` whose message begins with `path:line:`. Options of sources and destinations are checked apart, by
    `check_plugin_keys`, since only their plugins know them.
    """
    with _collection_paused():
        return _load(path, os.environ if environ is None else environ)


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Hold the cycle collector: a config is a tree without cycles, and walking it while it grows doubles the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _load(path: Path, environ: Mapping[str, str]) -> CampaignConfig:
    document = read_document(path)
    absolute = Path(os.path.abspath(path))  # noqa: PTH100  (a link to the config stays the user's choice)
    base = absolute.parent
    root = _validate(document, read_values(document, base, environ))
    warnings: list[str] = []
    sources = resolve_sources(document, root)
    around = Surroundings(document, base, sources, root.defaults, destination_node(document), warnings)
    if not root.exports:
        raise document.error(
            ("exports",), "there is nothing to export", hint="add an entry: `- {name: orders, table: public.orders}`"
        )
    check_names(document, root)
    exports = tuple(resolve_export(around, index, export) for index, export in enumerate(root.exports))
    check_places(document, exports, base)
    check_dependencies(document, exports)
    warnings += describe(document, root, sources, exports)
    return CampaignConfig(
        path=absolute,
        given=path,
        sha256=hashlib.sha256(document.data).hexdigest(),
        sources={name: source.config for name, source in sources.items()},
        source_groups={
            name: GroupConfig(
                max_connections=group.max_connections,
                max_heavy=group.max_heavy,
                max_lag_seconds=group.max_lag,
                max_lock_waits=group.max_lock_waits,
            )
            for name, group in root.source_groups.items()
        },
        exports=exports,
        planning=_planning(document, root, exports),
        plugins=PluginsConfig(
            block=tuple(root.plugins.block),
            allow=None if root.plugins.allow is None else tuple(root.plugins.allow),
            grant={name: tuple(rights) for name, rights in root.plugins.grant.items()},
            options=root.plugins.options,
        ),
        state_url=_state_url(document, base),
        warnings=tuple(warnings),
        export_lines={spec.name: document.find(("exports", index))[1] for index, spec in enumerate(exports)},
    )


def _validate(document: Document, data: dict[str, Json]) -> RootModel:
    try:
        return RootModel.model_validate(data)
    except ValidationError as error:
        raise_first(document, error)
        raise


def _planning(document: Document, root: RootModel, exports: tuple[ExportSpec, ...]) -> PlanningConfig:
    names = {spec.name for spec in exports}
    for index, entry in enumerate(root.planning.suppress):
        if entry.export not in names:
            raise document.error(
                ("planning", "suppress", index, "export"),
                f"there is no export named {entry.export}",
                hint=suggest(entry.export, names, what="exports"),
            )
    return PlanningConfig(
        workers=root.planning.workers,
        waves=root.planning.waves if isinstance(root.planning.waves, int) else None,
        policy=root.planning.policy,
        fail_fast=root.planning.fail_fast,
        rules=root.planning.rules,
        suppress=tuple(
            Suppression(export=entry.export, code=entry.code, reason=entry.reason, until=entry.until)
            for entry in root.planning.suppress
        ),
        window_seconds=root.planning.window,
    )


def _state_url(document: Document, base: Path) -> str:
    """Return the state's URL: as written while it holds references, else with an absolute path."""
    node, _ = document.find(("state", "url"))
    written = getattr(node, "value", None)
    if not isinstance(written, str):
        return locate_state("sqlite:///.rivet/state.db", base)
    try:
        return locate_state(written, base)
    except ConfigError as error:
        raise document.error(("state", "url"), error.message, hint=error.hint) from None
