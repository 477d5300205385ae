"""T6: what 10,000 exports cost: bound, what-ifs, waves, schedule, one claim, and a whole plan of 10,000 tables."""

from __future__ import annotations

import resource
import sqlite3
import tempfile
import time
from pathlib import Path

from benchmarks.catalog import judge_seal_and_write
from benchmarks.schedule.families import POLICIES, Instance, draw
from benchmarks.schedule.row import Row, quantile
from rivet_core.scheduling.bound import lower_bound
from rivet_core.scheduling.dispatch import Dispatcher
from rivet_core.scheduling.simulate import simulate
from rivet_core.scheduling.waves import recommend_waves
from rivet_core.scheduling.whatif import what_ifs

TABLES = 10_000


def measure_speed() -> list[Row]:
    """T6, the scheduling part: bound, what-ifs, waves and schedule of 10,000 exports, and the cost of one claim; CPU time."""
    instance = draw("small10k", 0)
    jobs, capacities = instance.jobs, instance.capacities
    steps = []
    for name, action in (
        ("lower bound", lambda: lower_bound(jobs, capacities)),
        ("what-ifs", lambda: what_ifs(jobs, capacities)),
        ("4 waves", lambda: recommend_waves(jobs, capacities, 4)),
        ("schedule (bottleneck)", lambda: simulate(jobs, capacities, POLICIES["bottleneck"])),
    ):
        started = time.process_time()
        action()
        steps.append((name, time.process_time() - started))
    total = sum(seconds for _, seconds in steps)
    rows = [Row("", f"  10,000 exports: {name}", f"{seconds:.3f} CPU s") for name, seconds in steps]
    rows.append(Row("T6", "10,000 exports: bound, what-ifs, waves, schedule", f"{total:.2f} CPU s", "<= 4 s", total <= 4.0))
    for name in ("bottleneck", "fast-lane", "longest-first", "waves"):
        cost = claim_cost(instance, name) * 1e6
        rows.append(Row("T6", f"one claim, 10,000 waiting, {name} (median)", f"{cost:.1f} us", "< 50 us", cost < 50.0))
    return rows


def measure_plan() -> list[Row]:
    """T6 as a whole: judge, bound, what-ifs, schedule, seal and write of 10,000 tables whose catalog is known."""
    with tempfile.TemporaryDirectory(prefix="rivet-bench-") as folder:
        place = Path(folder)
        with sqlite3.connect(place / "shop.db") as database:
            database.execute("BEGIN")  # one transaction, or each table waits for the disk
            for number in range(TABLES):
                database.execute(f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY, at TEXT, amount REAL)")
        database.close()
        names = "".join(f"  - {{name: t{number}, table: t{number}}}\n" for number in range(TABLES))
        (place / "rivet.yaml").write_text(
            f"source: {{type: sqlite, path: shop.db}}\ndestination: {{type: local, path: out}}\nexports:\n{names}"
        )
        wall, used, size = judge_seal_and_write(place / "rivet.yaml", place / "plan.json")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        Row("T6", "10,000 exports: judge, schedule, seal, write", f"{used:.2f} CPU s, {wall:.2f} s", "<= 4 s", used <= 4.0),
        Row("", "  size of that plan", f"{size / 1e6:.1f} MB"),
        Row("T6", "peak memory of this whole process", f"{peak:.0f} MB", "<= 500 MB", peak <= 500),
    ]


def claim_cost(instance: Instance, name: str) -> float:
    """Return the median seconds of a successful claim over a whole schedule."""
    dispatcher = Dispatcher(instance.jobs, instance.capacities, POLICIES[name])
    costs, running = [], []
    while True:
        started = time.perf_counter()
        job = dispatcher.claim()
        spent = time.perf_counter() - started
        if job is not None:
            costs.append(spent)
            running.append(job.name)
        elif running:
            dispatcher.finish(running.pop(0))
        else:
            return quantile(costs, 0.5)
