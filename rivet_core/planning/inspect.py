"""Ask every source for its facts and units, all tables at once, several sources side by side. The only I/O of planning."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rivet_core.api import RecallingSession, SourceSession
from rivet_core.config import GroupConfig, SourceConfig
from rivet_core.errors import ConfigError, PluginError, RivetError, SourceError
from rivet_core.facts import CatalogFacts, ExportSpec, InspectItem, Mark, Mode, ReadSpec, RelationKind, TableFacts, Unit
from rivet_core.planning.given import OURS, checked_catalog, checked_units
from rivet_core.planning.outputs import columns_problem
from rivet_core.planning.snapshots import Kept, identity_of
from rivet_core.plugins import Registry, plugin_fault
from rivet_core.references import resolve

PLANNER_CONNECTIONS = 2
"""Connections that planning holds at one source: one that asks, one for index-end probes."""
PARALLEL_SOURCES = 4
NEEDS_SNAPSHOT = "needs_snapshot"
"""The code with which a source says that the asked units are exact under one consistent snapshot only."""
CONSISTENT = "consistent"
CheckUnits = Callable[[Any, str], tuple[Unit, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """One source as it was seen. Either `catalog` or `error` is set; `failures` are exports that cannot be read as asked."""

    config: SourceConfig
    catalog: CatalogFacts | None = None
    error: RivetError | None = None
    units: Mapping[str, tuple[Unit, ...]] = field(default_factory=dict)
    snapshots: frozenset[str] = frozenset()
    """Exports whose units are exact only under one consistent snapshot: they lie over something that updates move."""
    failures: Mapping[str, RivetError] = field(default_factory=dict)
    items: tuple[InspectItem, ...] = ()
    """What was asked for."""
    identity: str = ""
    """What tells this source from another, for its catalog snapshots."""
    reused_at: datetime | None = None
    """When the snapshot was taken that stood in for asking, if one did."""

    def table(self, spec: ExportSpec) -> TableFacts | None:
        """Return the facts of what `spec` reads, `None` when the source could not be asked."""
        return self.catalog.tables.get(item_name(spec)) if self.catalog else None


@dataclass(slots=True)
class _Read:
    """How the exports of one source will be read, as far as it was asked."""

    units: dict[str, tuple[Unit, ...]] = field(default_factory=dict)
    snapshots: set[str] = field(default_factory=set)
    failures: dict[str, RivetError] = field(default_factory=dict)


def item_name(spec: ExportSpec) -> str:
    """Return the key under which the facts of an export's table or query stand in `CatalogFacts.tables`."""
    return spec.table if spec.table is not None else f"(query of {spec.name})"


def inspect_sources(
    sources: Mapping[str, SourceConfig],
    exports: Sequence[ExportSpec],
    committed: Mapping[str, tuple[Mark, ...]],
    registry: Registry,
    *,
    base: Path,
    groups: Mapping[str, GroupConfig] | None = None,
    snapshots: Mapping[str, tuple[Kept, ...]] | None = None,
    as_of: datetime | None = None,
) -> dict[str, SourceView]:
    """Return one view per source that an export names. A snapshot that is fresh at `as_of` stands in for asking again.

    A source that cannot be reached becomes a view with an error, an export that cannot be read a failure in its source's
    view; a wrong config or an unusable plugin raises, since nothing can be planned with it. Planning keeps within the
    `max_connections` that `groups` declare: the sources of one group are asked one after another.
    """
    wanted = {name: [spec for spec in exports if spec.source == name] for name in sources}
    queues: dict[tuple[str, str], list[SourceConfig]] = {}
    for name, config in sources.items():
        if wanted[name]:
            queues.setdefault(_shared(config, wanted[name]) or ("source", name), []).append(config)

    def ask(queue: Sequence[SourceConfig]) -> list[SourceView]:
        kept, views = (snapshots or {}, as_of), []
        for config in queue:
            members = wanted[config.name]
            declared = [group.max_connections for name, group in (groups or {}).items() if name in _groups(config, members)]
            asked = min([PLANNER_CONNECTIONS, *(most for most in declared if most)])
            views.append(_view(config, members, committed, registry, base, kept, asked))
        return views

    with ThreadPoolExecutor(max_workers=PARALLEL_SOURCES, thread_name_prefix="rivet-inspect") as pool:
        found = {view.config.name: view for views in pool.map(ask, queues.values()) for view in views}
    return {name: found[name] for name in sources if name in found}


def _groups(config: SourceConfig, exports: Sequence[ExportSpec]) -> set[str]:
    """Return the declared groups that read from a source."""
    return {name for spec in exports if (name := spec.source_group or config.source_group)}


def _shared(config: SourceConfig, exports: Sequence[ExportSpec]) -> tuple[str, str] | None:
    names = _groups(config, exports)
    return ("group", config.source_group or min(names)) if names else None


def _view(
    config: SourceConfig,
    exports: Sequence[ExportSpec],
    committed: Mapping[str, tuple[Mark, ...]],
    registry: Registry,
    base: Path,
    kept: tuple[Mapping[str, tuple[Kept, ...]], datetime | None],
    connections: int,
) -> SourceView:
    try:
        session = registry.open_source(config.type, config.options, base=base)
    except PluginError as error:
        if error.code == "plugin_failed" and error.__cause__ is not None:
            return SourceView(config=config, error=plugin_fault(config.type, error.__cause__))
        raise
    except ConfigError:
        raise
    except RivetError as error:
        return SourceView(config=config, error=error)
    items = _items(exports)
    snapshots, as_of = kept
    found = snapshots.get(config.name, ())
    try:
        identity = identity_of(config.type, resolve(dict(config.options), base=base))
        fresh = None if as_of is None else next((one for one in found if one.fresh(as_of, identity)), None)
        session.limit(connections)
        catalog = session.inspect(items) if fresh is None else _recalled(session, items, exports, fresh)
        ours = registry.source(config.type).plugin.dist in OURS
        read = _units(
            session,
            config.type,
            exports,
            catalog if ours else checked_catalog(catalog, config.type),
            committed,
            _taken if ours else checked_units,
        )
    except (ConfigError, PluginError):
        raise
    except RivetError as error:
        return SourceView(config=config, error=error)
    except BaseException as error:  # noqa: BLE001 - a plugin's bug marks that plugin's exports, and ends no plan
        return SourceView(config=config, error=plugin_fault(config.type, error))
    finally:
        with contextlib.suppress(BaseException):
            session.close()
    return SourceView(
        config=config,
        catalog=catalog,
        units=read.units,
        snapshots=frozenset(read.snapshots),
        failures=read.failures,
        items=tuple(items),
        identity=identity,
        reused_at=None if fresh is None else fresh.seen_at,
    )


def _recalled(session: SourceSession, items: Sequence[InspectItem], exports: Sequence[ExportSpec], kept: Kept) -> CatalogFacts:
    """Return the facts out of a snapshot, the source asked only for what is not in it, and for what is cut into chunks.

    `statements` counts what was really sent. Chunks need the key's bounds as they are now, and in one statement.
    """
    cut = {item_name(spec) for spec in exports if spec.mode is Mode.CHUNKED}
    known = kept.reusable([item for item in items if item.name not in cut])
    if isinstance(session, RecallingSession):
        session.recall([item for item in items if item.name in known], known)
    rest = [item for item in items if item.name not in known]
    if not rest:
        return CatalogFacts(server=kept.server, tables=known, statements=0)
    asked = session.inspect(rest)
    return replace(asked, tables={**known, **asked.tables})


def _items(exports: Sequence[ExportSpec]) -> list[InspectItem]:
    columns: dict[str, list[str]] = {}
    cut: dict[str, list[str]] = {}
    specs: dict[str, ExportSpec] = {}
    for spec in exports:
        named = (spec.cursor_column, spec.cursor_fallback_column, spec.chunk_column, spec.time_column)
        columns.setdefault(item_name(spec), []).extend(name for name in named if name)
        cut.setdefault(item_name(spec), []).extend([spec.chunk_column] if spec.chunk_column else [])
        specs.setdefault(item_name(spec), spec)
    return [
        InspectItem(
            name=name,
            table=spec.table,
            query=spec.query,
            columns=tuple(dict.fromkeys(columns[name])),
            chunk_columns=tuple(dict.fromkeys(cut[name])),
        )
        for name, spec in specs.items()
    ]


def _units(
    session: SourceSession,
    kind: str,
    exports: Sequence[ExportSpec],
    catalog: CatalogFacts,
    committed: Mapping[str, tuple[Mark, ...]],
    check: CheckUnits,
) -> _Read:
    read = _Read()
    for spec in exports:
        problem = _problem(catalog.tables.get(item_name(spec)), spec)
        if problem is not None:
            read.failures[spec.name] = problem
            continue
        marks = committed.get(spec.name, ()) if spec.mode is Mode.INCREMENTAL else ()
        try:
            read.units[spec.name] = check(session.units(ReadSpec.of(spec), marks), kind)
        except RivetError as error:
            if error.code == NEEDS_SNAPSHOT:
                _ask_under_snapshot(session, kind, spec, marks, read, check)
            else:
                read.failures[spec.name] = error
        except BaseException as error:  # noqa: BLE001 - as for the whole source
            read.failures[spec.name] = plugin_fault(kind, error)
    return read


def _taken(units: tuple[Unit, ...], kind: str) -> tuple[Unit, ...]:
    return units


def _ask_under_snapshot(
    session: SourceSession, kind: str, spec: ExportSpec, marks: tuple[Mark, ...], read: _Read, check: CheckUnits
) -> None:
    """Ask again for units that hold under one snapshot only; the plan then says so."""
    try:
        read.units[spec.name] = check(session.units(ReadSpec.of(replace(spec, snapshot=CONSISTENT)), marks), kind)
        read.snapshots.add(spec.name)
    except RivetError as error:
        read.failures[spec.name] = error
    except BaseException as error:  # noqa: BLE001 - as for the whole source
        read.failures[spec.name] = plugin_fault(kind, error)


_PROBLEMS = {RelationKind.MISSING: "missing", RelationKind.QUERY: "query"}
"""What is wrong with an item that has a problem; of a table that is there only its rights can be."""


def _problem(table: TableFacts | None, spec: ExportSpec) -> RivetError | None:
    if table is None:
        return SourceError(f"{item_name(spec)} was not found", hint="check the name and the schema", error_class="missing")
    if table.problem or table.kind is RelationKind.MISSING:
        kind = table.problem_class or _PROBLEMS.get(table.kind, "permission")
        return SourceError(
            table.problem or f"{item_name(spec)} does not exist", hint=table.remedy, code=f"source_{kind}", error_class=kind
        )
    return columns_problem(table, spec)
