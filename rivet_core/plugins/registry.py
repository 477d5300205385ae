"""What is active: records by name or as sorted folds, each with its owner, and the way to open what they describe."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rivet_core.api import (
    CursorClassifier,
    DestinationSpec,
    PlanRenderer,
    ReasonEmitter,
    Ref,
    SchedulingPolicy,
    ScoringRule,
    SourceSession,
    SourceSpec,
    StoreCapabilities,
    Target,
)
from rivet_core.errors import PluginError, RivetError
from rivet_core.interrupts import is_ctrl_c
from rivet_core.plugins.info import Owned, PluginInfo, Status
from rivet_core.plugins.lazy import load_reference

if TYPE_CHECKING:
    from rivet_core.facts import Json

RecordT = TypeVar("RecordT")


class Registry:
    """The plugins of one process, after admission. Read only."""

    def __init__(self, plugins: Sequence[PluginInfo]) -> None:
        self._resolved: dict[str, Any] = {}
        self.plugins = tuple(sorted(plugins, key=lambda plugin: (plugin.name, plugin.dist, plugin.api)))
        self.sources = self._by_name("rivet_sources", SourceSpec)
        self.destinations = self._by_name("rivet_destinations", DestinationSpec)
        self.policies = self._by_name("rivet_scheduling_policies", SchedulingPolicy)
        self.renderers = self._by_name("rivet_renderers", PlanRenderer)
        self.classifiers = self._all("rivet_cursor_classifiers", CursorClassifier)
        self.rules = self._all("rivet_scoring_rules", ScoringRule)
        self.emitters = self._all("rivet_reason_emitters", ReasonEmitter)

    def _all(self, hook: str, record: type[RecordT]) -> tuple[Owned[RecordT], ...]:
        return tuple(
            Owned(cast("RecordT", found), plugin)
            for plugin in self.plugins
            if plugin.status is Status.OK
            for found in plugin.hooks.get(hook, ())
        )

    def _by_name(self, hook: str, record: type[RecordT]) -> Mapping[str, Owned[RecordT]]:
        return {str(owned.record.name): owned for owned in self._all(hook, record)}  # type: ignore[attr-defined]

    def require_usable(self) -> None:
        """Stop when a plugin is neither usable nor blocked: going on without its rules would silently change results."""
        for plugin in self.plugins:
            if plugin.status in (Status.BROKEN, Status.INCOMPATIBLE):
                raise PluginError(
                    f"plugin {plugin.name} ({plugin.dist} {plugin.version}) is {plugin.status}: {plugin.detail}",
                    hint=plugin.hint or f"upgrade it, or leave it out with plugins.block: [{plugin.name}]",
                    code=f"plugin_{plugin.status}",
                )

    def resolve(self, ref: Ref) -> Any:
        """Import what a lazy reference names, once."""
        if not isinstance(ref, str):
            return ref
        if ref in self._resolved:
            return self._resolved[ref]
        found = self._resolved[ref] = load_reference(ref)
        return found

    def open_source(
        self, kind: str, options: Mapping[str, Json], *, base: Path, environ: Mapping[str, str] | None = None
    ) -> SourceSession:
        """Resolve the references in `options`, check them against the plugin's model and connect."""
        owned = self.source(kind)
        session = self._open(owned, owned.record.connect, options, f"source type {kind}", base, environ)
        return cast("SourceSession", session)

    def open_destination(
        self, kind: str, options: Mapping[str, Json], *, base: Path, environ: Mapping[str, str] | None = None
    ) -> Target:
        """Resolve the references in `options`, check them against the plugin's model and open the store."""
        owned = self.destination(kind)
        what = f"destination type {kind}"
        target = self._open(owned, owned.record.open, options, what, base, environ)
        if fault := _target_fault(target):
            raise PluginError(
                f"{owned.plugin.dist} {owned.plugin.version} failed to open {what}: {fault}",
                hint="this is a fault of the plugin: report it to its authors",
                code="plugin_failed",
            )
        return cast("Target", target)

    def source(self, kind: str) -> Owned[SourceSpec]:
        """Return the source of this type, or say how to install it."""
        return _known("source", kind, self.sources)

    def destination(self, kind: str) -> Owned[DestinationSpec]:
        """Return the destination of this type, or say how to install it."""
        return _known("destination", kind, self.destinations)

    def _open(
        self,
        owned: Owned[Any],
        opener: Ref,
        options: Mapping[str, Json],
        what: str,
        base: Path,
        environ: Mapping[str, str] | None,
    ) -> object:
        from rivet_core.options import validate_options
        from rivet_core.references import resolve

        resolved = resolve(dict(options), base=base, environ=os.environ if environ is None else environ)
        model = validate_options(self.resolve(owned.record.options), resolved, base=base, what=what, environ=environ)
        try:
            return self.resolve(opener)(model)
        except RivetError:
            raise
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            raise PluginError(
                f"{owned.plugin.dist} {owned.plugin.version} failed to open {what}: {type(error).__name__}",
                hint="this is a fault of the plugin: run with -v for the trace, and report it to its authors",
                code="plugin_failed",
            ) from error


def _target_fault(target: object) -> str:
    """Return what is wrong with an open destination, empty for nothing."""
    from fsspec import AbstractFileSystem

    if not isinstance(target, Target):
        return f"it returned {type(target).__name__}, not a Target"
    wanted = {
        "filesystem": AbstractFileSystem,
        "root": str,
        "url_prefix": str,
        "capabilities": StoreCapabilities,
    }
    wrong = (name for name, kind in wanted.items() if not isinstance(getattr(target, name), kind))
    return "".join(f"the {name} of its Target is {type(getattr(target, name)).__name__}" for name in list(wrong)[:1])


PUBLISHED = {
    "postgres": "rivet-postgres",
    "postgresql": "rivet-postgres",
    "mysql": "rivet-mysql",
    "mariadb": "rivet-mysql",
    "s3": "rivet-s3",
}
"""Types that first-party plugins bring, and the distribution to install."""


def where_to_get(what: str, kind: str) -> str:
    """Return the hint for a type of source or destination that nothing installed offers; no package is made up."""
    if kind in PUBLISHED:
        return f"pip install {PUBLISHED[kind]}"
    url = ", or write type: fsspec with its URL" if what == "destination" else ""
    return (
        f"no plugin of rivet's own brings it: install the package that does{url}; "
        "rivet plugins list shows what is installed, rivet plugins new begins one"
    )


def _known(what: str, kind: str, offered: Mapping[str, Owned[RecordT]]) -> Owned[RecordT]:
    if kind in offered:
        return offered[kind]
    raise PluginError(
        f"unknown {what} type {kind}; installed: {', '.join(sorted(offered)) or 'none'}",
        hint=where_to_get(what, kind),
        code=f"unknown_{what}_type",
    )
