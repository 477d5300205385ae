"""From a config to a sealed plan: survey, judge, predict, assemble, seal."""

from __future__ import annotations

import contextlib
import secrets as random_source
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rivet_core import __version__
from rivet_core.artifact.canonical import seal
from rivet_core.artifact.model import (
    Binding,
    CampaignPlan,
    CampaignReason,
    ConfigRef,
    ExportPlan,
    GroupWarning,
    LowerBound,
    Plan,
    PlanGroup,
    PlanSource,
    PlanState,
    PlanWave,
    PluginLock,
    PolicyChoice,
    Prediction,
    PredictionBasis,
    WhatIf,
)
from rivet_core.config import CampaignConfig
from rivet_core.facts import ExportFacts, ExportSpec, connections_of
from rivet_core.planning.campaign import Campaign, assemble, known_dependencies, resolve_policy
from rivet_core.planning.entries import Shown, campaign_reason, planned_entry, unplannable_entry
from rivet_core.planning.judge import Judgement
from rivet_core.planning.judged import Judged
from rivet_core.planning.judging import Verdict, collector_paused, judge_all
from rivet_core.planning.measure import runs_by_source_bytes
from rivet_core.planning.request import PlanRequest
from rivet_core.planning.secrets import options_model, without_secrets
from rivet_core.planning.split import shares_of, split_hints, splits_of
from rivet_core.planning.survey import Survey, survey
from rivet_core.plugins import PluginInfo, Registry, Status
from rivet_core.scheduling.chains import LAST_WAVE
from rivet_core.scheduling.deadlines import is_near
from rivet_core.scheduling.predict import PredictionInput, count_basis, predict

LIFETIME = timedelta(hours=24)
"""PA3: after this long apply refuses a plan."""


def build_plan(config: CampaignConfig, registry: Registry, request: PlanRequest) -> Plan:
    """Return the sealed plan of a campaign. Reads the state and the catalogs; changes nothing.

    Raises `ConfigError` and `PluginError`; a source or an export that cannot be read is a marked row instead.
    """
    registry.require_usable()
    # What a plugin prints must not stand among the data on stdout.
    with collector_paused(), contextlib.redirect_stdout(sys.stderr):
        return _build(config, registry, request)


def _build(config: CampaignConfig, registry: Registry, request: PlanRequest) -> Plan:
    as_of = (request.as_of or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
    specs = [spec for spec in config.exports if not request.exports or spec.name in request.exports]
    workers = request.workers or config.planning.workers
    # A plan of a few exports saw a part of the catalog only: no snapshot of the whole.
    found = survey(config, specs, registry, as_of=as_of, workers=workers, reuse=not request.refresh, keep=not request.exports)
    judged = _judge(found, config, registry)
    policy = resolve_policy(_asked_policy(config, request), judged, registry, pool=request.pool)
    asked = None if request.auto_waves else request.waves or config.planning.waves
    campaign = assemble(found, judged, registry, asked_waves=asked, policy=policy, config_order=request.config_order)
    splits = splits_of(campaign, judged)
    hints = split_hints(splits, campaign, judged, done=request.split)
    if splits and request.split:
        shared = shares_of(splits, judged)
        campaign = assemble(
            found, judged, registry, asked_waves=asked, policy=policy, config_order=request.config_order, splits=shared
        )
    campaign = replace(campaign, hints=(*campaign.hints, *hints))
    entries = _entries(found, judged, campaign, config, registry)
    plan = Plan(
        plan_version=1,
        rivet_version=__version__,
        plan_id=f"{as_of:%Y%m%dT%H%M%SZ}-{random_source.token_hex(4)}",
        created_at=as_of,
        as_of=as_of,
        expires_at=as_of + LIFETIME,
        config=ConfigRef(path=str(config.path), sha256=config.sha256),
        plugins=_lock(registry, config, specs, policy),
        seal="",
        sources=_sources(config, found, registry),
        source_groups=_groups(config, found),
        state=PlanState(url=_state(config)),
        fail_fast=config.planning.fail_fast,
        campaign=_campaign_plan(campaign, judged, found),
        exports=entries,
    )
    return seal(plan)


def _asked_policy(config: CampaignConfig, request: PlanRequest) -> str:
    if request.policy is not None:
        return request.policy
    if request.config_order:
        return "auto" if request.pool else "waves"
    return config.planning.policy


def _judge(found: Survey, config: CampaignConfig, registry: Registry) -> list[Judged]:
    verdicts = judge_all([subject.facts for subject in found.subjects if subject.facts is not None], config, registry)
    predictions = predict([_prediction_input(verdict) for verdict in verdicts], found.as_of)
    judged = [
        Judged(
            facts=verdict.facts,
            judgement=verdict.judgement,
            prediction=predictions[verdict.facts.spec.name],
            connections=_connections(verdict.facts, found.capacities[verdict.facts.group].max_connections),
            deadline=is_near(verdict.facts.spec.value.deadline, found.as_of, verdict.facts.window_seconds),
        )
        for verdict in verdicts
    ]
    return known_dependencies(judged, frozenset(subject.spec.name for subject in found.subjects))


def _connections(facts: ExportFacts, cap: int) -> int:
    return min(cap, connections_of(facts.spec.parallel, len(facts.units), facts.spec.snapshot))


def _prediction_input(verdict: Verdict) -> PredictionInput:
    facts, judgement = verdict.facts, verdict.judgement
    return PredictionInput(
        name=facts.spec.name,
        group=facts.group,
        engine=facts.server.engine,
        bytes_now=_bytes_now(judgement),
        history=runs_by_source_bytes(facts),
        fingerprint=facts.fingerprint,
    )


def _bytes_now(judgement: Judgement) -> float | None:
    """Return what the next run moves in the source's measure: the delta, else the table, else what the query scans."""
    known = [judgement.delta_bytes, judgement.estimated_bytes]
    known.append(judgement.work.bytes if judgement.work.code == "RV107" else None)
    return next((float(value) for value in known if value is not None), None)


def _entries(
    found: Survey, judged: Sequence[Judged], campaign: Campaign, config: CampaignConfig, registry: Registry
) -> tuple[ExportPlan, ...]:
    by_name = {item.name: item for item in judged}
    entries = []
    shown: Shown = {}
    split_in = campaign.shares()
    for subject in found.subjects:
        spec = subject.spec
        model = options_model(registry, registry.destination(spec.destination.type).record.options)
        place = f"exports.{spec.name}.destination"
        options = without_secrets(spec.destination.options, config=config.path, key=place, model=model)
        item = by_name.get(spec.name)
        if item is None:
            entries.append(unplannable_entry(subject, secrets=options))
        else:
            wave = campaign.waves.wave_of[spec.name]
            isolated = spec.name in campaign.isolated
            entries.append(
                planned_entry(item, shown, wave=wave, isolated=isolated, split_in=split_in.get(spec.name), secrets=options)
            )
    return tuple(entries)


def _sources(config: CampaignConfig, found: Survey, registry: Registry) -> dict[str, PlanSource]:
    sources = {}
    for name, view in sorted(found.views.items()):
        server = view.catalog.server if view.catalog is not None else None
        source = config.sources[name]
        model = options_model(registry, registry.source(source.type).record.options)
        group = next(subject.group for subject in found.subjects if subject.spec.source == name)
        sources[name] = PlanSource(
            type=source.type,
            group=source.source_group or (server.address if server is not None and server.address else group),
            options=without_secrets(source.options, config=config.path, key=f"sources.{name}", model=model),
            observed_at=view.reused_at or (None if server is None else server.observed_at or found.as_of),
            role="unknown" if server is None else str(server.role),
            engine="" if server is None else server.engine,
            version="" if server is None else server.version,
            address="" if server is None else server.address,
            max_connections=None if server is None else server.max_connections,
            used_connections=None if server is None else server.used_connections,
            active_sessions=None if server is None else server.active_sessions,
            replica_lag_seconds=None if server is None else server.replica_lag_seconds,
            statements=0 if view.catalog is None else view.catalog.statements,
        )
    return sources


def _groups(config: CampaignConfig, found: Survey) -> dict[str, PlanGroup]:
    groups = {}
    for name, capacity in found.capacities.items():
        declared = config.source_groups.get(name)
        limits = (
            {} if declared is None else {"max_lag_seconds": declared.max_lag_seconds, "max_lock_waits": declared.max_lock_waits}
        )
        groups[name] = PlanGroup(
            max_connections=capacity.max_connections, max_heavy=capacity.max_heavy, assumed=capacity.assumed, **limits
        )
    return groups


def _state(config: CampaignConfig) -> str | dict[str, str]:
    kept = without_secrets({"url": config.state_url}, config=config.path, key="state")["url"]
    return {str(key): str(value) for key, value in kept.items()} if isinstance(kept, dict) else str(kept)


def _lock(registry: Registry, config: CampaignConfig, specs: Sequence[ExportSpec], policy: str) -> tuple[PluginLock, ...]:
    """Return the plugins that can have influenced the plan, and those that will act in apply."""
    acting = [owned.plugin for owned in registry.rules]
    acting += [owned.plugin for owned in registry.classifiers]
    acting += [owned.plugin for owned in registry.emitters]
    for spec in specs:
        acting.append(registry.source(config.sources[spec.source].type).plugin)
        acting.append(registry.destination(spec.destination.type).plugin)
    acting.append(registry.policies[policy].plugin)
    used: dict[str, PluginInfo] = {plugin.name: plugin for plugin in acting}
    return tuple(PluginLock.model_validate(plugin.lock()) for _, plugin in sorted(used.items()) if plugin.status is Status.OK)


def _campaign_plan(campaign: Campaign, judged: Sequence[Judged], found: Survey) -> CampaignPlan:
    basis = count_basis({item.name: item.prediction for item in judged})
    hints = [*campaign.hints, *found.warnings, *campaign.predicted.messages]
    members = campaign.waves.members()
    steps = len(members) if campaign.waves.hand_set else campaign.waves.asked
    if steps > 1 and (words := campaign.price.words(steps)):
        hints.append(words)
    return CampaignPlan(
        policy=PolicyChoice(name=campaign.policy, workers=campaign.capacities.workers),
        ordered_exports=tuple(item.name for item in campaign.ranked),
        waves=tuple(_waves(members, campaign.price.wave_seconds)),
        source_group_warnings=tuple(
            GroupWarning(group=reason.group, code=reason.code, message=reason.message, exports=reason.exports)
            for reason in campaign.reasons
            if reason.group
        ),
        lower_bound=LowerBound(
            seconds=round(campaign.bound.seconds, 3),
            binding=Binding(
                kind=campaign.bound.binding.kind,
                name=campaign.binding[1],
                explanation=campaign.bound.binding.explanation,
            ),
        ),
        predicted=Prediction(
            policy=campaign.policy,
            workers=campaign.capacities.workers,
            makespan_seconds=round(campaign.predicted.makespan_seconds, 3),
            basis=PredictionBasis(measured=basis.measured, estimated=basis.estimated, unknown=basis.unknown),
        ),
        free_waves=campaign.free_waves,
        what_ifs=tuple(
            WhatIf(change=item.change, lower_bound_seconds=round(item.lower_bound_seconds, 3)) for item in campaign.what_ifs
        ),
        concurrency_hints=tuple(hints),
        reasons=tuple(CampaignReason(**campaign_reason(reason)) for reason in campaign.reasons),
    )


def _waves(members: Mapping[int, tuple[str, ...]], lengths: Mapping[int, float]) -> Iterator[PlanWave]:
    """Yield the waves in the order they run in; exports without a number, beside hand-set ones, are the last one."""
    number = 0
    for wave, names in members.items():
        number = number + 1 if wave == LAST_WAVE else wave
        yield PlanWave(wave=number, exports=names, predicted_seconds=round(lengths.get(wave, 0.0), 3))
