"""Planning a very large catalog: 10,000 tables in a private PostgreSQL and a private MariaDB.

Prints, per engine, the catalog statements of one inspection, its SQL time (median of 5, warm), the wall time and peak memory of
the whole `rivet plan`, the time to judge, seal and write, and the size of the plan file, each beside its target.

Run: python -m benchmarks.catalog [tables]
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from rivet_core.artifact import plan_bytes, write_plan
from rivet_core.config import load_config
from rivet_core.facts import InspectItem
from rivet_core.planning import build
from rivet_core.planning.request import PlanRequest
from rivet_core.planning.survey import Survey
from rivet_core.plugins import load_plugins
from rivet_core.testing.mariadb import open_mysql
from rivet_core.testing.postgres import open_postgres

TABLES = 10_000
ROUNDS = 5
BATCH = 500


def main() -> None:
    """Measure both engines."""
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else TABLES
    for name, open_server, fill in (("postgres", open_postgres, _fill_postgres), ("mysql", open_mysql, _fill_mysql)):
        server = open_server()
        try:
            server.start()
            database = server.create_database()
            fill(database.execute, tables)
            _measure(name, database.url, tables)
        finally:
            server.remove()


def _fill_postgres(execute: Callable[[str], object], tables: int) -> None:
    for start in range(0, tables, BATCH):
        execute(
            f"DO $$ BEGIN FOR n IN {start}..{min(tables, start + BATCH) - 1} LOOP "
            "EXECUTE format('CREATE TABLE t%s (id bigint PRIMARY KEY, at timestamptz, note text, amount numeric(12,2))', n); "
            "EXECUTE format('INSERT INTO t%s SELECT g, now(), ''n'', g FROM generate_series(1, 20) g', n); "
            "IF n % 3 = 0 THEN EXECUTE format('CREATE INDEX ON t%s (at)', n); END IF; END LOOP; END $$"
        )
    execute("ANALYZE")


def _fill_mysql(execute: Callable[[str], object], tables: int) -> None:
    for start in range(0, tables, BATCH):
        statements = []
        for n in range(start, min(tables, start + BATCH)):
            index = ", KEY (at)" if n % 3 == 0 else ""
            statements.append(f"CREATE TABLE t{n} (id BIGINT PRIMARY KEY, at DATETIME, note TEXT, amount DECIMAL(12,2){index})")
            statements.append(f"INSERT INTO t{n} VALUES (1, NOW(), 'n', 1), (2, NOW(), 'n', 2)")
        for statement in statements:
            execute(statement)


def _measure(kind: str, url: str, tables: int) -> None:
    with tempfile.TemporaryDirectory(prefix="rivet-bench-") as folder:
        config_path = Path(folder) / "rivet.yaml"
        exports = "".join(
            f"  - {{name: t{n}, table: t{n}, mode: incremental, cursor_column: at}}\n"
            if n % 4 == 0
            else f"  - {{name: t{n}, table: t{n}}}\n"
            for n in range(tables)
        )
        config_path.write_text(
            f"source: {{type: {kind}, url_env: BENCH_URL}}\ndestination: {{type: local, path: out}}\nexports:\n{exports}"
        )
        os.environ["BENCH_URL"] = url
        print(f"\n{kind}, {tables} tables")
        statements, sql = _inspect(kind, tables)
        _row("catalog statements per source", f"{statements}", "<= 12", statements <= 12)
        _row(f"inspection, median of {ROUNDS}", f"{sql:.2f} s", "< 1 s of SQL", sql < 1.0)
        wall, memory = _whole_plan(config_path)
        _row("whole rivet plan", f"{wall:.1f} s", "< 8 s", wall < 8)
        _row("peak memory", f"{memory:.0f} MB", "< 600 MB", memory < 600)
        pure, size = _judge(config_path, Path(folder) / "plan.json")
        _row("judge + schedule + seal + write", f"{pure:.1f} s", "<= 4 s", pure <= 4)
        _row("size of the plan", f"{size / 1e6:.1f} MB", "< 60 MB", size < 60e6)


def _inspect(kind: str, tables: int) -> tuple[int, float]:
    items = [InspectItem(name=f"t{n}", table=f"t{n}", columns=("at",) if n % 4 == 0 else ()) for n in range(tables)]
    session = load_plugins().open_source(kind, {"url_env": "BENCH_URL"}, base=Path())
    try:
        session.inspect(items)
        found = [session.inspect(items) for _ in range(ROUNDS)]
    finally:
        session.close()
    return found[-1].statements, statistics.median(facts.seconds for facts in found)


def _whole_plan(config_path: Path) -> tuple[float, float]:
    began = time.perf_counter()
    command = [sys.executable, "-m", "rivet_core.cli", "plan", "-q", "-c", str(config_path), "-o", f"{config_path}.json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    # ru_maxrss of the children so far is the largest of them: the plan, the only large one.
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000


def _judge(config_path: Path, plan_path: Path) -> tuple[float, int]:
    """Time everything after the survey, with the survey itself done beforehand."""
    config, registry = load_config(config_path), load_plugins()
    now = datetime.now(UTC)
    surveyed = build.survey(config, config.exports, registry, as_of=now.replace(microsecond=0), workers=4)
    original = build.survey

    def again(*arguments: object, **choices: object) -> Survey:
        return surveyed

    build.survey = again
    try:
        began = time.perf_counter()
        plan = build.build_plan(config, registry, PlanRequest(as_of=now))
        write_plan(plan, plan_path)
        taken = time.perf_counter() - began
    finally:
        build.survey = original
    return taken, len(plan_bytes(plan))


def _row(what: str, found: str, target: str, holds: bool) -> None:
    print(f"  {what:<34} {found:>10}   target {target:<12} {'holds' if holds else 'MISSED'}")


if __name__ == "__main__":
    main()
