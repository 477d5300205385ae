"""A source never sees more connections than its group allows: inner parallelism, two sources, two processes, cap 1."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project
from tests.system.campaigns import wait_for
from tests.system.sampler import Sampler

OUT = "destination: {type: local, path: out}\n"


@pytest.fixture
def role(postgres: PostgresDatabase) -> Iterator[str]:
    """The URL of a role that may hold three connections and read everything."""
    name = f"capped_{postgres.name}"
    postgres.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'pw-capped' CONNECTION LIMIT 3 IN ROLE pg_read_all_data", admin=True)
    yield postgres.url_with(user=name, password="pw-capped")
    postgres.execute(f"DROP ROLE {name}", admin=True)


def fill(postgres: PostgresDatabase, tables: int, rows: int = 4000) -> None:
    for number in range(tables):
        postgres.execute(f"CREATE TABLE t{number} (id bigint PRIMARY KEY, note text)")
        postgres.execute(f"INSERT INTO t{number} SELECT g, repeat('x', 100) FROM generate_series(1, {rows}) g")
    postgres.execute("ANALYZE")


def chunked(tables: int, cap: int, *, first: int = 0, sources: str = "", parallel: int = 4) -> str:
    """A config of chunked exports on one group of `cap` connections; `sources` alternates over several."""
    names = sources.split() or ["shop"]
    lines = [
        "sources:",
        *(f"  {name}: {{type: postgres, url_env: SHOP_URL, source_group: g}}" for name in names),
        f"source_groups: {{g: {{max_connections: {cap}, max_heavy: 8}}}}",
        "planning: {workers: 6, policy: bottleneck}",
        "exports:",
        *(
            f"  - {{name: t{number}, source: {names[number % len(names)]}, table: public.t{number}, mode: chunked, "
            f"chunk_size: 1000, parallel: {parallel}}}"
            for number in range(first, first + tables)
        ),
    ]
    return OUT + "\n".join(lines) + "\n"


def rows_of(summary: dict) -> dict[str, int]:
    return {export["name"]: export["rows"] for export in summary["exports"]}


@pytest.mark.parametrize("cap", [3, 1])
def test_six_chunked_exports_with_parallelism_four_end_under_a_role_limit_of_three(
    rivet: Project, postgres: PostgresDatabase, role: str, cap: int
) -> None:
    fill(postgres, 6)
    rivet.environ["SHOP_URL"] = role
    rivet.config(chunked(6, cap))
    with Sampler.watching(postgres, f"capped_{postgres.name}") as seen:
        summary = rivet.run("run", "--json").assert_done().json()
    assert rows_of(summary) == {f"t{number}": 4000 for number in range(6)}
    assert sum(export["retries"] for export in summary["exports"]) == 0
    assert seen.peak <= cap
    assert seen.samples > 20


@pytest.mark.parametrize(("cap", "sources"), [(1, "shop"), (2, "shop"), (1, "shop crm"), (2, "shop crm")])
def test_m08_eight_chunked_exports_end_with_few_connections(
    rivet: Project, postgres: PostgresDatabase, role: str, cap: int, sources: str
) -> None:
    fill(postgres, 8, rows=2500)
    rivet.environ["SHOP_URL"] = role
    rivet.config(chunked(8, cap, sources=sources))
    rivet.run("plan", "-o", "plan.json").assert_done()
    with Sampler.watching(postgres, f"capped_{postgres.name}") as seen:
        done = rivet.run("apply", "plan.json", "--json", "--stall-after", "0.5").assert_done()
    assert rows_of(done.json()) == {f"t{number}": 2500 for number in range(8)}
    assert seen.peak <= cap
    assert seen.highest >= 1, "nobody looked while it read"
    assert "stalled" not in done.stderr


def test_m08_a_table_that_somebody_locked_is_named_by_the_watchdog(
    rivet: Project, postgres: PostgresDatabase, role: str
) -> None:
    """A migration holds one table: the line says who reads it and who waits for its connection; then all end."""
    fill(postgres, 3)
    rivet.environ["SHOP_URL"] = role
    rivet.config(chunked(3, 1).replace("bottleneck", "fifo"))
    rivet.run("plan", "-o", "plan.json").assert_done()
    with postgres.connect() as connection:
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE t0 IN ACCESS EXCLUSIVE MODE")
        process = rivet.start("apply", "plan.json", "--events", "--stall-after", "0.01")
        assert process.stdout is not None
        events = map(json.loads, process.stdout)
        found = (event for event in events if event["event"] == "stalled")
        stalled = next(event for event in found if event["waiting"] and "t0 reads" in str(event["lines"]))
        connection.execute("COMMIT")
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert stalled["silent_seconds"] >= 0.6
    assert any(line.startswith("t0 reads unit ") for line in stalled["lines"])
    assert "t1, t2 wait for 1 connection of group g, out of 1: t0 has 1" in stalled["lines"]


def test_m07_four_processes_on_one_group_stay_under_its_cap(rivet: Project, postgres: PostgresDatabase, role: str) -> None:
    """Four configs for one server, each with the same cap of its group; they share the state, and so the connections."""
    fill(postgres, 8)
    rivet.environ["SHOP_URL"] = role
    state = "state: {url: 'sqlite:///state.db'}\n"
    names = ("one", "two", "three", "four")
    for place, name in enumerate(names):
        rivet.write(f"{name}.yaml", state + chunked(2, 3, first=2 * place))
        rivet.run("plan", "-c", f"{name}.yaml", "-o", f"{name}.json").assert_done()
    with Sampler.watching(postgres, f"capped_{postgres.name}") as seen:
        processes = [rivet.start("apply", f"{name}.json", "--json") for name in names]
        ended = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, ended
    assert seen.peak == 3


@pytest.mark.parametrize("cap", [1, 3])
def test_consistent_snapshots_end_within_the_cap(rivet: Project, postgres: PostgresDatabase, role: str, cap: int) -> None:
    fill(postgres, 2)
    rivet.environ["SHOP_URL"] = role
    rivet.config(chunked(2, cap).replace("parallel: 4", "parallel: 4, snapshot: consistent"))
    with Sampler.watching(postgres, f"capped_{postgres.name}") as seen:
        summary = rivet.run("run", "--json", timeout=60).assert_done().json()
    assert rows_of(summary) == {"t0": 4000, "t1": 4000}
    assert seen.peak <= cap


def test_connections_of_the_role_that_others_have_are_waited_for(rivet: Project, postgres: PostgresDatabase, role: str) -> None:
    """They came after the plan, which counted them as free."""
    fill(postgres, 1)
    rivet.config(chunked(1, 3, parallel=3))
    rivet.environ["SHOP_URL"] = role
    rivet.run("plan", "-o", "plan.json").assert_done()
    with psycopg.connect(role), psycopg.connect(role):
        process = rivet.start("apply", "plan.json", "--events")
        wait_for(process, "retry")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
