"""One export that alone is the bound: as it is, and split by `rivet plan --split`; predicted and on the clock.

A pause after each page slows the reading down, so that the clock shows the schedule and not the processors of one machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

from benchmarks.live.campaign import LiveCampaign
from benchmarks.schedule.families import POLICIES
from benchmarks.schedule.row import Row
from rivet_core.scheduling.plan_campaign import campaign_from_plan
from rivet_core.scheduling.simulate import simulate_campaign
from rivet_core.testing.postgres_database import PostgresDatabase

ROWS, UNITS, PAUSE_MS = 40_000, 20, 500
SHARE, SECONDS = 0.10, 3.0
"""Plan, simulator and clock agree when they differ by at most this share, or by so many seconds."""


def measure_split(postgres: PostgresDatabase, directory: Path, *, runs: int) -> Iterator[Row]:
    """Yield makespans without and with the split, medians of `runs`, and how far the prediction was off."""
    postgres.execute("CREATE TABLE giant AS SELECT g AS id, repeat('x', 500) AS note FROM generate_series(1, %s) g", [ROWS])
    postgres.execute("ALTER TABLE giant ADD PRIMARY KEY (id)")
    postgres.execute("ANALYZE giant")
    chunked = {"mode": "chunked", "chunk_size": ROWS // UNITS, "tuning": {"throttle_ms": PAUSE_MS}}
    config = {
        "source": {"type": "postgres", "url_env": "LIVE_URL", "source_group": "g"},
        "source_groups": {"g": {"max_connections": 4, "max_heavy": 1}},
        "destination": {"type": "local", "path": "out"},
        "planning": {"workers": 4, "policy": "bottleneck"},
        "exports": [
            {"name": "giant", "table": "giant", **chunked},
            *({"name": f"s{place}", "query": "SELECT 1 AS a, pg_sleep(1.0)::text AS b"} for place in range(6)),
        ],
    }
    campaign = LiveCampaign(directory, config, {"LIVE_URL": postgres.url})
    whole = statistics.median(campaign.apply(campaign.plan()).seconds for _ in range(runs))
    planned, simulated, lived = [], [], []
    for _ in range(runs):
        plan = campaign.plan(split=True)
        result = simulate_campaign(campaign_from_plan(plan.model_dump(mode="json")), POLICIES[plan.campaign.policy.name])
        planned.append(plan.campaign.predicted.makespan_seconds)
        simulated.append(result.makespan_seconds)
        lived.append(campaign.apply(plan).seconds)
    plan_seconds, simulate_seconds, live_seconds = (statistics.median(values) for values in (planned, simulated, lived))
    off = max(abs(plan_seconds - live_seconds), abs(simulate_seconds - live_seconds))
    yield Row("", f"one export is the bound: whole / split, median of {runs}", f"{whole:.1f} / {live_seconds:.1f} s")
    yield Row(
        "",
        f"  split: plan / simulate / live, median of {runs}",
        f"{plan_seconds:.1f} / {simulate_seconds:.1f} / {live_seconds:.1f} s",
        f"within {SHARE:.0%} or {SECONDS:.0f} s",
        off <= max(SHARE * live_seconds, SECONDS),
    )
