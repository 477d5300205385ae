"""What a policy makes of declared tiers: when each is done, and what priority instead of speed would change (M06)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rivet_core.api import SchedulingPolicy
from rivet_core.scheduling.campaign_file import Campaign
from rivet_core.scheduling.simulate import SimulationResult, simulate_campaign

TIERS = ("high", "normal", "low")
BY_PRIORITY = "priority"
WORTH = 0.05
"""A tier that another goal would end sooner by less than this share of the campaign is no conflict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """When the tiers are done under one policy: seconds by tier, highest first, and of the whole."""

    policy: str
    ends: Mapping[str, float]
    makespan_seconds: float


def tier_goals(campaign: Campaign, policies: Mapping[str, SchedulingPolicy], chosen: str) -> tuple[Goal, ...]:
    """Return what the `chosen` policy makes of the tiers, then what rank order would where the two goals are in conflict.

    Empty where all exports are of one tier, or the policy is not among `policies`.
    """
    if len({job.tier for job in campaign.jobs}) < 2 or chosen not in policies:
        return ()
    now = goal_of(simulate_campaign(campaign, policies[chosen]))
    if chosen == BY_PRIORITY or BY_PRIORITY not in policies:
        return (now,)
    other = goal_of(simulate_campaign(campaign, policies[BY_PRIORITY]))
    first = next(iter(now.ends))
    return (now, other) if now.ends[first] - other.ends[first] > WORTH * now.makespan_seconds else (now,)


def goal_of(result: SimulationResult) -> Goal:
    """Return the ends of a simulated campaign's tiers."""
    ends = {tier: result.tier_ends[tier] for tier in TIERS if tier in result.tier_ends}
    return Goal(policy=result.policy, ends=ends, makespan_seconds=result.makespan_seconds)
