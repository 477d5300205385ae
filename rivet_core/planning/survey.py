"""Everything that is known before judging: the state's memory and the sources' facts, one `ExportFacts` per export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from rivet_core.config import CampaignConfig
from rivet_core.errors import RivetError
from rivet_core.facts import ExportFacts, ExportSpec, GroupCapacity, Mark, Mode, RunFact, ServerFacts
from rivet_core.planning.delta import expected_delta
from rivet_core.planning.groups import capacity_of, group_of, hosts_in_two_groups
from rivet_core.planning.inspect import CONSISTENT, SourceView, inspect_sources
from rivet_core.plugins import Registry
from rivet_core.references import resolve_text
from rivet_core.state import read_state, source_fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the state remembers that planning uses."""

    cursors: Mapping[str, tuple[Mark, ...]]
    histories: Mapping[str, tuple[RunFact, ...]]
    columns: Mapping[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One export with its group and either its facts or the reason why it cannot be planned."""

    spec: ExportSpec
    group: str
    facts: ExportFacts | None = None
    error: RivetError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The whole campaign before judging."""

    as_of: datetime
    workers: int
    subjects: tuple[Subject, ...]
    views: Mapping[str, SourceView]
    capacities: Mapping[str, GroupCapacity]
    warnings: tuple[str, ...] = field(default=())


def survey(config: CampaignConfig, specs: Sequence[ExportSpec], registry: Registry, *, as_of: datetime, workers: int) -> Survey:
    """Read the state and ask the sources; writes nothing anywhere."""
    memory = _remember(config)
    views = inspect_sources(config.sources, specs, memory.cursors, registry, base=config.base)
    servers = {name: view.catalog.server for name, view in views.items() if view.catalog is not None}
    groups = {spec.name: group_of(spec, config.sources[spec.source], servers.get(spec.source)) for spec in specs}
    capacities = _capacities(config, specs, groups, servers, workers)
    subjects = tuple(
        _subject(spec, groups[spec.name], views[spec.source], memory, capacities[groups[spec.name]], as_of, workers, config)
        for spec in specs
    )
    source_groups = {name: config.sources[name].source_group or servers[name].address for name in servers}
    return Survey(
        as_of=as_of,
        workers=workers,
        subjects=subjects,
        views=views,
        capacities=capacities,
        warnings=tuple(hosts_in_two_groups(source_groups, servers)),
    )


def _remember(config: CampaignConfig) -> Memory:
    with read_state(resolve_text(config.state_url, base=config.base), base=config.base) as state:
        return Memory(cursors=state.cursors(), histories=state.histories(), columns=state.all_last_columns())


def _capacities(
    config: CampaignConfig,
    specs: Sequence[ExportSpec],
    groups: Mapping[str, str],
    servers: Mapping[str, ServerFacts],
    workers: int,
) -> dict[str, GroupCapacity]:
    members: dict[str, dict[str, ServerFacts]] = {group: {} for group in groups.values()}
    for spec in specs:
        if spec.source in servers:
            members[groups[spec.name]][spec.source] = servers[spec.source]
    return {
        group: capacity_of(config.source_groups.get(group), list(found.values()), workers)
        for group, found in sorted(members.items())
    }


def _subject(
    spec: ExportSpec,
    group: str,
    view: SourceView,
    memory: Memory,
    capacity: GroupCapacity,
    as_of: datetime,
    workers: int,
    config: CampaignConfig,
) -> Subject:
    error = view.error or view.failures.get(spec.name)
    table = view.table(spec)
    if error is not None or view.catalog is None or table is None:
        return Subject(spec=spec, group=group, error=error or RivetError(f"{spec.name} was not inspected"))
    if spec.name in view.snapshots:
        spec = replace(spec, snapshot=CONSISTENT)
    history = memory.histories.get(spec.name, ())
    facts = ExportFacts(
        spec=spec,
        group=group,
        table=table,
        server=view.catalog.server,
        as_of=as_of,
        history=history,
        last_success=_last_success(history),
        fingerprint=source_fingerprint(spec),
        units=view.units.get(spec.name, ()),
        committed=memory.cursors.get(spec.name, ()) if spec.mode is Mode.INCREMENTAL else (),
        previous_columns=memory.columns.get(spec.name),
        max_connections=capacity.max_connections,
        workers=workers,
        window_seconds=config.planning.window_seconds,
    )
    return Subject(spec=spec, group=group, facts=replace(facts, delta=expected_delta(facts)))


def _last_success(history: Sequence[RunFact]) -> datetime | None:
    return max((run.finished_at or run.started_at for run in history if run.status == "succeeded"), default=None)
