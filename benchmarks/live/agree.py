"""Exports made of pg_sleep: the plan's prediction, `rivet simulate` and the clock side by side, after one warm-up."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from pathlib import Path

from benchmarks.live.campaign import LiveCampaign
from benchmarks.schedule.families import POLICIES
from benchmarks.schedule.row import Row
from rivet_core.scheduling.plan_campaign import campaign_from_plan
from rivet_core.scheduling.simulate import simulate_campaign
from rivet_core.testing.postgres_database import PostgresDatabase

SHARE, SECONDS = 0.10, 3.0
"""They agree when they differ by at most this share, or by so many seconds."""


def measure_agreement(postgres: PostgresDatabase, directory: Path, *, exports: int, runs: int) -> Iterator[Row]:
    """Yield how far plan, simulator and live runs are apart; medians of `runs`."""
    rng = random.Random("sleep")
    lengths = [min(4.0, rng.lognormvariate(-0.3, 0.8)) for _ in range(exports)]
    config = {
        "source": {"type": "postgres", "url_env": "LIVE_URL", "source_group": "g"},
        "source_groups": {"g": {"max_connections": 3, "max_heavy": 3}},
        "destination": {"type": "local", "path": "out"},
        "planning": {"workers": 4, "policy": "bottleneck"},
        "exports": [
            {"name": f"s{place}", "query": f"SELECT 1 AS a, pg_sleep({seconds:.3f})::text AS b"}
            for place, seconds in enumerate(lengths)
        ],
    }
    campaign = LiveCampaign(directory, config, {"LIVE_URL": postgres.url})
    campaign.apply(campaign.plan())  # the overhead is learned here
    planned, simulated, lived = [], [], []
    for _ in range(runs):
        plan = campaign.plan()
        result = simulate_campaign(campaign_from_plan(plan.model_dump(mode="json")), POLICIES[plan.campaign.policy.name])
        planned.append(plan.campaign.predicted.makespan_seconds)
        simulated.append(result.makespan_seconds)
        lived.append(campaign.apply(plan).seconds)
    plan_seconds, simulate_seconds, live_seconds = (statistics.median(values) for values in (planned, simulated, lived))
    off = max(abs(plan_seconds - live_seconds), abs(simulate_seconds - live_seconds))
    yield Row(
        "",
        f"{exports} exports of pg_sleep: plan / simulate / live, median of {runs}",
        f"{plan_seconds:.1f} / {simulate_seconds:.1f} / {live_seconds:.1f} s",
        f"within {SHARE:.0%} or {SECONDS:.0f} s",
        off <= max(SHARE * live_seconds, SECONDS),
    )
    yield Row("", "  furthest from the clock", f"{off:.2f} s, {off / live_seconds:.1%}", "", None)
