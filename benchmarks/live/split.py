"""One export that alone is the bound: as it is, and split by `rivet plan --split`; predicted and on the clock.

A pause after each page slows the reading down, so that the clock shows the schedule and not the processors of one machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

from benchmarks.live.campaign import LiveCampaign
from benchmarks.live.compare import compare
from benchmarks.schedule.row import Row
from rivet_core.testing.postgres_database import PostgresDatabase

ROWS, UNITS, PAUSE_MS = 40_000, 20, 500


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
    compared = compare(campaign, runs=runs, split=True)
    yield Row("", f"one export is the bound: whole / split, median of {runs}", f"{whole:.1f} / {compared.lived:.1f} s")
    yield compared.row("  split")
