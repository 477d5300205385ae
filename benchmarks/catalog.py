"""Planning a very large catalog: 10,000 tables in a private PostgreSQL and a private MariaDB.

Prints, per engine, the catalog statements of one inspection, its SQL time as the server itself counts it (median of 5, warm),
the wall time and peak memory of the whole `rivet plan`, the time to judge, schedule, seal and write, and the size of the plan
file, each beside its target. Beside wall times stands the processor time of this side: where the two are far apart, the machine
was busy with something else.

Run: python -m benchmarks.catalog [tables]
"""

from __future__ import annotations

import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rivet_core.artifact import write_plan
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
    """Measure both engines, with the plugins that `pip install rivet-core rivet-postgres rivet-mysql` brings."""
    os.environ["RIVET_PLUGINS_BLOCK"] = "rivet_replica"
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else TABLES
    for name, open_server, fill in (("postgres", open_postgres, _fill_postgres), ("mysql", open_mysql, _fill_mysql)):
        server = open_server()
        try:
            server.start()
            database = server.create_database()
            fill(database.execute, tables)
            _measure(name, database.url, tables, *_own_clock(name, server, database.url))
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
        execute(
            f"BEGIN NOT ATOMIC FOR n IN {start}..{min(tables, start + BATCH) - 1} DO "
            "EXECUTE IMMEDIATE CONCAT('CREATE TABLE t', n, ' (id BIGINT PRIMARY KEY, at DATETIME, note TEXT, "
            "amount DECIMAL(12,2)', IF(n MOD 3 = 0, ', KEY (at)', ''), ')'); "
            "EXECUTE IMMEDIATE CONCAT('INSERT INTO t', n, ' SELECT seq, NOW(), ''n'', seq FROM seq_1_to_20'); "
            "END FOR; END"
        )


def _own_clock(kind: str, server: Any, url: str) -> tuple[Callable[[], None], Callable[[], float]]:
    """Return what starts the server's own count of its statements' seconds, and what reads it.

    PostgreSQL writes durations into its log, MariaDB into its slow query table.
    """
    if kind == "postgres":
        server.admin().execute(f'ALTER DATABASE "{url.rpartition("/")[2]}" SET log_min_duration_statement = 0')
        place = [0]

        def start() -> None:
            place[0] = server.output.stat().st_size

        def read() -> float:
            with server.output.open("rb") as log:
                log.seek(place[0])
                found = re.findall(rb"app=rivet/inspect[^\n]*duration: ([0-9.]+) ms", log.read())
            return sum(float(value) for value in found) / 1000

        return start, read

    # A session takes these over when it begins, so they are set before the first one.
    server.admin().execute("SET GLOBAL long_query_time = 0, GLOBAL log_output = 'TABLE', GLOBAL slow_query_log = 1")

    def begin() -> None:
        server.admin().execute("TRUNCATE TABLE mysql.slow_log")

    def total() -> float:
        rows = server.admin().execute(
            "SELECT COALESCE(SUM(TIME_TO_SEC(query_time)), 0) FROM mysql.slow_log WHERE user_host LIKE 'rivet%'"
        )
        return float(rows[0][0])

    return begin, total


def _measure(kind: str, url: str, tables: int, start: Callable[[], None], read: Callable[[], float]) -> None:
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
        statements, sql, whole = _inspect(kind, tables, start, read)
        _row("catalog statements per source", f"{statements}", "<= 12", statements <= 12)
        _row(f"SQL time, median of {ROUNDS}", f"{sql:.2f} s", "< 1 s", sql < 1.0, f"inspection {whole:.2f} s")
        wall, used, memory = _whole_plan(config_path)
        _row("whole rivet plan", f"{wall:.1f} s", "< 8 s", wall < 8, f"processor {used:.1f} s")
        _row("peak memory", f"{memory:.0f} MB", "< 600 MB", memory < 600)
        pure, used, size = judge_seal_and_write(config_path, Path(folder) / "plan.json")
        _row("judge + schedule + seal + write", f"{pure:.1f} s", "<= 4 s", pure <= 4, f"processor {used:.1f} s")
        _row("size of the plan", f"{size / 1e6:.1f} MB", "< 60 MB", size < 60e6)


def _inspect(kind: str, tables: int, start: Callable[[], None], read: Callable[[], float]) -> tuple[int, float, float]:
    """Return the statements, the server's seconds and the wall seconds of one warm inspection."""
    items = [InspectItem(name=f"t{n}", table=f"t{n}", columns=("at",) if n % 4 == 0 else ()) for n in range(tables)]
    served, walls = [], []
    session = load_plugins().open_source(kind, {"url_env": "BENCH_URL"}, base=Path())
    try:
        session.inspect(items)
        for _ in range(ROUNDS):
            start()
            found = session.inspect(items)
            served.append(read())
            walls.append(found.seconds)
    finally:
        session.close()
    return found.statements, statistics.median(served), statistics.median(walls)


def _whole_plan(config_path: Path) -> tuple[float, float, float]:
    """Return wall seconds, processor seconds and peak megabytes of `rivet plan` in a process of its own."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "rivet_core.cli", "plan", "-q", "-c", str(config_path), "-o", f"{config_path}.json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    # ru_maxrss of the children so far is the largest of them: the plan, the only large one.
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, used, after.ru_maxrss / 1000


def judge_seal_and_write(config_path: Path, plan_path: Path) -> tuple[float, float, int]:
    """Time everything after the survey, with the survey itself done beforehand."""
    config, registry = load_config(config_path), load_plugins()
    now = datetime.now(UTC)
    surveyed = build.survey(config, config.exports, registry, as_of=now.replace(microsecond=0), workers=4)
    original = build.survey

    def again(*arguments: object, **choices: object) -> Survey:
        return surveyed

    build.survey = again
    try:
        began, busy = time.perf_counter(), time.process_time()
        plan = build.build_plan(config, registry, PlanRequest(as_of=now))
        write_plan(plan, plan_path)
        taken, used = time.perf_counter() - began, time.process_time() - busy
    finally:
        build.survey = original
    return taken, used, plan_path.stat().st_size


def _row(what: str, found: str, target: str, holds: bool, beside: str = "") -> None:
    beside = f"   ({beside})" if beside else ""
    print(f"  {what:<34} {found:>10}   target {target:<12} {'holds' if holds else 'MISSED'}{beside}", flush=True)


if __name__ == "__main__":
    main()
