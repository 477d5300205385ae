"""T12: tables on two PostgreSQL and one MariaDB with caps: sessions sampled, and the clock against the lower bound."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.live.campaign import LiveCampaign
from benchmarks.schedule.row import Row
from rivet_core.artifact import Plan
from rivet_core.running import CampaignOutcome
from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.plan_campaign import campaign_from_plan
from rivet_core.testing.mariadb_database import MariaDatabase
from rivet_core.testing.postgres_database import PostgresDatabase

CAPS = {"one": 3, "two": 2, "crm": 3}
WORKERS = 6
SAMPLE_SECONDS = 0.01
LASTING = 3
"""A count is taken for true when so many samples in a row reach it: a session that the client has closed is shown until its
process at the server has ended."""
POSTGRES = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
MARIADB = "SELECT count(*) FROM information_schema.processlist WHERE user = 'rivet'"


def measure_bound(
    postgres: Sequence[PostgresDatabase], mysql: MariaDatabase, directory: Path, *, tables: int, runs: int
) -> Iterator[Row]:
    """Yield the most sessions ever seen per server, and the median of actual / bound."""
    servers: dict[str, Any] = {"one": postgres[0], "two": postgres[1], "crm": mysql}
    campaign = LiveCampaign(
        directory, _config(servers, tables), {f"LIVE_{name.upper()}": server.url for name, server in servers.items()}
    )
    with _sampling(servers) as peaks:
        campaign.apply(campaign.plan())
        found = []
        for _ in range(runs):
            plan = campaign.plan()
            found.append((plan, campaign.apply(plan), campaign.opening_seconds))
    for name, cap in CAPS.items():
        yield Row(
            "T12", f"most sessions at {name}, planner and probes counted", str(peaks[name]), f"<= {cap}", peaks[name] <= cap
        )
    ratio = statistics.median(_ratio(plan, outcome, outcome.seconds - opening) for plan, outcome, opening in found)
    whole = statistics.median(_ratio(plan, outcome, outcome.seconds) for plan, outcome, _ in found)
    seconds = statistics.median(outcome.seconds for _, outcome, _ in found)
    opening = statistics.median(opening for _, _, opening in found)
    yield Row("T12", f"{tables} tables, actual / bound of actual, median of {runs}", f"{ratio:.3f}", "<= 1.07", ratio <= 1.07)
    yield Row("", f"  with opening and checking the sources ({opening:.1f} of {seconds:.1f} s)", f"{whole:.3f}", "", None)


def _config(servers: dict[str, Any], tables: int) -> dict[str, Any]:
    rng = random.Random("tables")
    exports = []
    for number in range(tables):
        name = list(servers)[number % len(servers)]
        rows = int(min(400_000, 2_000 * rng.lognormvariate(1.0, 1.2)))
        series = "generate_series(1, {0}) g" if name != "crm" else "seq_1_to_{0}"
        column = "g" if name != "crm" else "seq"
        servers[name].execute(f"CREATE TABLE t{number} (id bigint PRIMARY KEY, note varchar(40), amount int)")
        servers[name].execute(
            f"INSERT INTO t{number} SELECT {column}, concat('note ', {column}), {column} % 1000 FROM {series.format(rows)}"
        )
        exports.append({"name": f"t{number}", "source": name, "table": f"t{number}"})
    for name in ("one", "two"):
        servers[name].execute("ANALYZE")
    kinds = {"one": "postgres", "two": "postgres", "crm": "mysql"}
    return {
        "sources": {name: {"type": kinds[name], "url_env": f"LIVE_{name.upper()}", "source_group": name} for name in servers},
        "source_groups": {name: {"max_connections": cap, "max_heavy": cap} for name, cap in CAPS.items()},
        "destination": {"type": "local", "path": "out"},
        "defaults": {"tuning": {"profile": "fast"}},
        "planning": {"workers": WORKERS, "policy": "bottleneck"},
        "exports": exports,
    }


def _ratio(plan: Plan, outcome: CampaignOutcome, seconds: float) -> float:
    """Return seconds on the clock against the lower bound of the seconds that the exports really took."""
    campaign = campaign_from_plan(plan.model_dump(mode="json"))
    bound = lower_bound(campaign.jobs, campaign.capacities, {export.name: export.seconds for export in outcome.exports})
    return seconds / bound.seconds


@contextmanager
def _sampling(servers: dict[str, Any]) -> Iterator[dict[str, int]]:
    peaks = dict.fromkeys(servers, 0)
    over = threading.Event()

    def sample(name: str) -> None:
        query = MARIADB if name == "crm" else POSTGRES
        connection = servers[name].connect(admin=True)
        last: deque[int] = deque([0], maxlen=LASTING)
        with connection.cursor() as cursor:
            while not over.is_set():
                cursor.execute(query)
                last.append(int(cursor.fetchone()[0]))
                peaks[name] = max(peaks[name], min(last))
                time.sleep(SAMPLE_SECONDS)
        connection.close()

    threads = [threading.Thread(target=sample, args=(name,)) for name in servers]
    for thread in threads:
        thread.start()
    try:
        yield peaks
    finally:
        over.set()
        for thread in threads:
            thread.join()
