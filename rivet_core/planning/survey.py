"""Everything that is known before judging: the state's memory and the sources' facts, one `ExportFacts` per export."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil

from rivet_core.config import CampaignConfig
from rivet_core.errors import RivetError
from rivet_core.facts import ExportFacts, ExportSpec, GroupCapacity, Mode, RunFact, ServerFacts
from rivet_core.planning.delta import expected_delta
from rivet_core.planning.groups import capacity_of, group_of, hosts_in_two_groups
from rivet_core.planning.inspect import CONSISTENT, SourceView, inspect_sources, item_name
from rivet_core.planning.memory import Memory, keep_snapshots, remember
from rivet_core.planning.runs import last_start
from rivet_core.planning.snapshots import earlier
from rivet_core.plugins import Registry
from rivet_core.state import source_fingerprint


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


def survey(
    config: CampaignConfig,
    specs: Sequence[ExportSpec],
    registry: Registry,
    *,
    as_of: datetime,
    workers: int,
    reuse: bool = False,
    keep: bool = False,
) -> Survey:
    """Read the state and ask the sources; writes nothing anywhere.

    `reuse` lets a fresh catalog snapshot stand in for asking, `keep` leaves one in a state that exists.
    """
    began = time.monotonic()
    memory = remember(config)
    snapshots = memory.snapshots if reuse else None
    views = inspect_sources(
        config.sources,
        specs,
        memory.cursors,
        registry,
        base=config.base,
        groups=config.source_groups,
        snapshots=snapshots,
        as_of=as_of,
    )
    # Never earlier than the counters were read, so that "before the last run" can be believed.
    seen_at = as_of + timedelta(seconds=ceil(time.monotonic() - began))
    if keep:
        keep_snapshots(config, memory, views, seen_at)
    servers = {name: view.catalog.server for name, view in views.items() if view.catalog is not None}
    groups = {spec.name: group_of(spec, config.sources[spec.source], servers.get(spec.source)) for spec in specs}
    capacities = _capacities(config, specs, groups, servers, workers)
    subjects = tuple(
        _subject(
            spec, groups[spec.name], views[spec.source], memory, capacities[groups[spec.name]], as_of, seen_at, workers, config
        )
        for spec in specs
    )
    return Survey(
        as_of=as_of,
        workers=workers,
        subjects=subjects,
        views=views,
        capacities=capacities,
        warnings=tuple(hosts_in_two_groups(((spec.source, groups[spec.name]) for spec in specs), servers)),
    )


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
    seen_at: datetime,
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
    last_success = _last_success(history)
    kept = memory.snapshots.get(spec.source, ())
    before = earlier(kept, view.identity, view.reused_at or seen_at, last_start(history, last_success))
    previous = before.table(item_name(spec)) if before is not None else None
    facts = ExportFacts(
        spec=spec,
        group=group,
        table=table,
        server=view.catalog.server,
        as_of=as_of,
        history=history,
        last_success=last_success,
        fingerprint=source_fingerprint(spec),
        units=view.units.get(spec.name, ()),
        committed=memory.cursors.get(spec.name, ()) if spec.mode is Mode.INCREMENTAL else (),
        previous=previous,
        previous_at=before.seen_at if before is not None and previous is not None else None,
        previous_columns=memory.columns.get(spec.name),
        max_connections=capacity.max_connections,
        workers=workers,
        window_seconds=config.planning.window_seconds,
    )
    return Subject(spec=spec, group=group, facts=replace(facts, delta=expected_delta(facts)))


def _last_success(history: Sequence[RunFact]) -> datetime | None:
    return max((run.finished_at or run.started_at for run in history if run.status == "succeeded"), default=None)
