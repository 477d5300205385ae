"""The exports together: rank, waves, lower bound, prediction, what must not run together, and what would help."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from rivet_core.errors import ConfigError
from rivet_core.facts import CampaignExport, CampaignFacts, Capacities, Job, Reason, SourceGroup, Tier
from rivet_core.planning.emit import emit_reasons
from rivet_core.planning.judged import Judged
from rivet_core.planning.ranking import isolated_on_source, rank_exports
from rivet_core.planning.survey import Survey
from rivet_core.plugins import Registry
from rivet_core.scheduling.automatic import POOL, WAVES, automatic_policy
from rivet_core.scheduling.bound import LowerBound, lower_bound
from rivet_core.scheduling.price import WavePrice, price_bounds, price_waves
from rivet_core.scheduling.shares import SplitIn, with_shares
from rivet_core.scheduling.simulate import SimulationResult, simulate
from rivet_core.scheduling.suspects import Suspect, find_suspects, message_of, own_runs
from rivet_core.scheduling.turns import simulate_turns
from rivet_core.scheduling.waves import WavePlan, free_waves, recommend_waves
from rivet_core.scheduling.whatif import WhatIf, what_ifs

AUTO = "auto"
PLAN_WAVES = "waves-bottleneck"
MOST_LAST_WORDS = 10
"""How many exports that start last are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """The campaign as the plan states it."""

    ranked: tuple[Judged, ...]
    jobs: tuple[Job, ...]
    capacities: Capacities
    policy: str
    waves: WavePlan
    price: WavePrice
    bound: LowerBound
    predicted: SimulationResult
    free_waves: int
    what_ifs: tuple[WhatIf, ...]
    isolated: frozenset[str]
    suspects: frozenset[str]
    reasons: tuple[Reason, ...]
    hints: tuple[str, ...]

    @property
    def binding(self) -> tuple[str, str]:
        """What sets the bound: its kind, and the group or the export, also where that is one share of it."""
        return _binding(self.bound, self.jobs)

    def shares(self) -> dict[str, int]:
        """How many shares each split export has."""
        return {job.share_of: job.shares for job in self.jobs if job.share_of}


def resolve_policy(asked: str, judged: Sequence[Judged], registry: Registry, *, pool: bool = False) -> str:
    """Return the policy's name.

    `auto` is waves if any is hand-set (but not for a `pool`, which has no barriers), else fast-lane if a tier high or a
    deadline is declared, else bottleneck.
    """
    if asked != AUTO:
        if asked not in registry.policies:
            raise ConfigError(
                f"there is no scheduling policy {asked}",
                hint=f"the policies are auto, {', '.join(sorted(registry.policies))}",
                code="unknown_policy",
            )
        return asked
    return automatic_policy(
        hand_set=not pool and any(item.facts.spec.wave is not None for item in judged),
        promised=any(item.tier is Tier.HIGH or item.facts.spec.value.deadline for item in judged),
    )


def assemble(
    found: Survey,
    judged: Sequence[Judged],
    registry: Registry,
    *,
    asked_waves: int | None,
    policy: str,
    config_order: bool,
    splits: Mapping[str, SplitIn] | None = None,
) -> Campaign:
    """Put judged exports, in config order, together into a campaign; those in `splits` as shares."""
    capacities = Capacities(workers=found.workers, groups=dict(found.capacities))
    ranked = tuple(rank_exports(judged))
    rank = {item.name: place for place, item in enumerate(ranked)}
    isolated = isolated_on_source(judged, found.capacities)
    jobs = with_shares([_job(item, place, rank) for place, item in enumerate(judged)], splits or {})
    bound = lower_bound(jobs, capacities)
    waves = recommend_waves(jobs, capacities, 1 if config_order else asked_waves)
    jobs = waves.assign(jobs)
    barriers = WAVES if config_order else PLAN_WAVES
    records = {name: registry.policies[name].record for name in (barriers, POOL, policy)}
    runs = {name: simulate(jobs, capacities, record) for name, record in records.items()}
    # One wave has no barrier, so nothing to price.
    bounds = price_bounds(jobs, capacities, records[barriers], records[POOL]) if len(waves.members()) > 1 else None
    suspects = find_suspects(
        {item.name: own_runs(item.facts.history, item.facts.fingerprint) for item in judged},
        {item.name: item.facts.spec.depends_on for item in judged},
    )
    turns = {name: suspect.turn for name, suspect in suspects.items()}
    campaign_facts = _facts(found, judged, jobs, isolated, bound.seconds, _binding(bound, jobs))
    reasons = emit_reasons(campaign_facts, registry)
    return Campaign(
        ranked=ranked,
        jobs=jobs,
        capacities=capacities,
        policy=policy,
        waves=waves,
        price=price_waves(runs[barriers], runs[POOL], bounds),
        bound=bound,
        predicted=simulate_turns(jobs, capacities, records[policy], turns) if turns else runs[policy],
        free_waves=free_waves(bound),
        what_ifs=what_ifs(jobs, capacities),
        isolated=isolated,
        suspects=frozenset(suspects),
        reasons=reasons,
        hints=(*_hints(judged, isolated, capacities), *_last_words(judged, suspects)),
    )


def _job(item: Judged, position: int, rank: Mapping[str, int]) -> Job:
    spec, last = item.facts.spec, item.last_success
    return Job(
        name=item.name,
        group=item.group,
        predicted_seconds=item.prediction.p50,
        p90_seconds=item.prediction.p90,
        connections=item.connections,
        heavy=item.heavy,
        serial=spec.parallel_safe is False,
        parallel_safe=item.judgement.parallel_safe,
        tier=str(item.tier),
        deadline=item.deadline,
        wave=spec.wave,
        rank=rank[item.name],
        position=position,
        last_success=None if last is None else last.timestamp(),
        depends_on=tuple(name for name in spec.depends_on if name in rank),
    )


def known_dependencies(judged: Sequence[Judged], names: Collection[str]) -> list[Judged]:
    """Return the exports with dependencies cut to `names`, all that the plan holds: with `-e` the others count as done.

    One that could not be planned stays: it was not done, so what waits for it is skipped by apply.
    """
    return [
        item
        if all(name in names for name in item.facts.spec.depends_on)
        else replace(
            item,
            facts=replace(
                item.facts,
                spec=replace(item.facts.spec, depends_on=tuple(name for name in item.facts.spec.depends_on if name in names)),
            ),
        )
        for item in judged
    ]


def _facts(
    found: Survey,
    judged: Sequence[Judged],
    jobs: Sequence[Job],
    isolated: frozenset[str],
    bound_seconds: float,
    binding: tuple[str, str],
) -> CampaignFacts:
    longest: dict[str, Job] = {}
    for job in jobs:
        known = longest.setdefault(job.export, job)
        longest[job.export] = job if job.predicted_seconds > known.predicted_seconds else known
    exports = tuple(
        CampaignExport(
            name=item.name,
            group=item.group,
            source=item.facts.spec.source,
            cost=item.cost,
            risk=item.judgement.scores.risk,
            value=item.judgement.scores.value,
            priority=item.priority,
            heavy=item.heavy,
            isolate_on_source=item.name in isolated,
            parallel_safe=item.judgement.parallel_safe and item.name not in isolated,
            serial=job.serial,
            connections=item.facts.spec.parallel,
            predicted_seconds=job.predicted_seconds,
            p90_seconds=job.predicted_seconds if job.p90_seconds is None else job.p90_seconds,
            wave=job.wave,
        )
        for item in judged
        if (job := longest[item.name])
    )
    groups: dict[str, SourceGroup] = {}
    for name, capacity in found.capacities.items():
        sources = tuple(sorted({item.facts.spec.source for item in judged if item.group == name}))
        groups[name] = SourceGroup(name=name, capacity=capacity, declared=not capacity.assumed, sources=sources)
    servers = {name: view.catalog.server for name, view in found.views.items() if view.catalog is not None}
    return CampaignFacts(
        as_of=found.as_of,
        workers=found.workers,
        exports=exports,
        groups=groups,
        servers=servers,
        lower_bound_seconds=bound_seconds,
        binding=binding,
    )


def _binding(bound: LowerBound, jobs: Sequence[Job]) -> tuple[str, str]:
    kind, name = bound.binding.kind, bound.binding.name
    return kind, next((job.export for job in jobs if job.name == name), name) if kind in ("longest", "chain") else name


def _hints(judged: Sequence[Judged], isolated: frozenset[str], capacities: Capacities) -> tuple[str, ...]:
    hints = []
    groups: Mapping[str, list[Judged]] = {name: [] for name in sorted(capacities.groups)}
    for item in judged:
        groups[item.group].append(item)
    for name, members in groups.items():
        slots = capacities.groups[name].max_heavy
        if any(item.name in isolated for item in members):
            heavy = "only one heavy export" if slots == 1 else f"at most {slots} heavy exports"
            hints.append(f"{heavy} at a time on {name}")
    serial = [item.name for item in judged if item.facts.spec.parallel_safe is False]
    if len(serial) > 1:
        hints.append(f"one at a time, as declared: {', '.join(serial)}")
    return tuple(hints)


def _last_words(judged: Sequence[Judged], suspects: Mapping[str, Suspect]) -> list[str]:
    """Return what is said of exports that apply starts last."""
    said = [message_of(item.name, suspects[item.name], item.group) for item in judged if item.name in suspects]
    more = len(said) - MOST_LAST_WORDS
    return said if more <= 0 else [*said[:MOST_LAST_WORDS], f"{more} more start last, for the same reasons"]
