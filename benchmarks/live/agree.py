"""Exports made of pg_sleep: the plan's prediction, `rivet simulate` and the clock side by side, after one warm-up."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.live.campaign import LiveCampaign
from benchmarks.live.compare import compare
from benchmarks.schedule.row import Row
from rivet_core.testing.postgres_database import PostgresDatabase


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
    compared = compare(campaign, runs=runs)
    yield compared.row(f"{exports} exports of pg_sleep")
    yield Row("", "  furthest from the clock", f"{compared.off:.2f} s, {compared.off / compared.lived:.1%}", "", None)
