"""The whole line on a real PostgreSQL: fifty tables of every shape, planned, applied, and equal to the source."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rivet_core.config import load_config
from rivet_core.plugins import load_plugins
from rivet_core.running import layout_of, list_files
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project

SIZES = (0, 1, 7, 100, 999, 1000, 5000, 20000)
SHAPES = (
    "id bigint PRIMARY KEY, k int NOT NULL, t timestamptz NOT NULL, s text",
    "id int PRIMARY KEY, k int, t timestamptz, s varchar(50)",
    "id bigint, k int, t timestamp, s text",
    "k int, id bigint, s text, t timestamp NOT NULL, PRIMARY KEY (k, id)",
)
ROW = """SELECT {columns} FROM (
    SELECT g AS id, (g * 7 % 13) - 6 AS k, timestamptz '2026-01-01 00:00:00+00' + g * interval '1.000001 second' AS t,
           CASE WHEN g % 5 = 0 THEN NULL ELSE 'row ' || g END AS s
    FROM generate_series(1, {rows}) g) x"""

OUT = "destination: {type: local, path: out}\n"


def build(postgres: PostgresDatabase) -> dict[str, int]:
    """Create fifty tables; return their row counts. One has a million rows, some cursors are NULL in part."""
    made = {}
    statements = []
    for number in range(49):
        name, shape, rows = f"t{number:02}", SHAPES[number % len(SHAPES)], SIZES[number % len(SIZES)]
        columns = "k, id, s, t" if shape.startswith("k") else "id, k, t, s"
        values = columns if number % 4 != 1 else columns.replace("t,", "CASE WHEN id % 10 = 0 THEN NULL ELSE t END,")
        statements += [f"CREATE TABLE {name} ({shape})", f"INSERT INTO {name} {ROW.format(columns=values, rows=rows)}"]
        if number % 3 == 0:
            statements.append(f"CREATE INDEX ON {name} (t)")
        made[name] = rows
    statements += [
        "CREATE TABLE big (id bigint PRIMARY KEY, amount numeric(12,2) NOT NULL, note text)",
        "INSERT INTO big SELECT g, g * 1.25, 'note ' || g FROM generate_series(1, 1000000) g",
        "ANALYZE",
    ]
    made["big"] = 1000000
    for statement in statements:
        postgres.execute(statement)
    return made


def config(tables: list[str]) -> str:
    lines = [
        "source: {type: postgres, url_env: SHOP_URL}",
        "destination: {type: local, path: out}",
        "planning: {workers: 3}",
        "exports:",
    ]
    for number, name in enumerate(tables):
        if name == "big":
            extra = ", mode: chunked, chunk_size: 200000, parallel: 2"
        elif number % 4 == 1:
            extra = ", mode: incremental, cursor_column: t"
        elif number % 4 == 0:
            extra = ", mode: incremental, cursor_column: id"
        else:
            extra = ""
        lines.append(f"  - {{name: {name}, table: public.{name}{extra}}}")
    return "\n".join(lines) + "\n"


def sums(path: list[str], columns: str) -> Any:
    return duckdb.sql(f"SELECT {columns} FROM read_parquet({path!r})").fetchall()[0]


def current(rivet: Project, name: str) -> list[str]:
    """What `rivet files` lists, without a process of its own for each of fifty tables."""
    config = load_config(rivet.path / "rivet.yaml")
    spec = next(spec for spec in config.exports if spec.name == name)
    options, layout = layout_of(spec)
    target = load_plugins(environ={}).open_destination(spec.destination.type, options, base=config.base)
    return [file.path for file in list_files(target, layout)]


def snapshot(postgres: PostgresDatabase) -> list[tuple[Any, ...]]:
    query = "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables ORDER BY 1"
    postgres.execute("SELECT pg_stat_force_next_flush()")
    return postgres.execute(query)


@pytest.mark.postgres
@pytest.mark.slow
def test_fifty_tables_arrive_whole_and_the_source_stays_untouched(rivet: Project, postgres: PostgresDatabase) -> None:
    made = build(postgres)
    rivet.environ["SHOP_URL"] = postgres.url
    rivet.config(config(sorted(made)))
    before = snapshot(postgres)

    rivet.run("plan", "-o", "plan.json").assert_done()
    plan = json.loads((rivet.path / "plan.json").read_text())
    assert {item["status"] for item in plan["exports"]} == {"planned"}
    assert len(next(item for item in plan["exports"] if item["name"] == "big")["units"]) == 5
    summary = rivet.run("apply", "plan.json", "--json", timeout=300).assert_done().json()
    assert summary["exit_code"] == 0

    listed = rivet.run("files", "big", "--json").assert_done().json()["files"]
    assert [item["path"] for item in listed] == current(rivet, "big")
    for name, rows in made.items():
        files = current(rivet, name)
        assert files, name
        if name == "big":
            expected = postgres.execute("SELECT count(*), sum(id), sum(amount), sum(length(note)) FROM big")[0]
            found = sums(files, "count(*), sum(id), sum(amount), sum(length(note))")
            assert tuple(map(Decimal, found)) == tuple(map(Decimal, expected))
            continue
        query = (
            "count(*), coalesce(sum(id), 0), coalesce(sum(k), 0), count(t), count(s), coalesce(sum(length(s)), 0), "
            "min(t), max(t)"
        )
        expected = postgres.execute(f"SELECT {query} FROM {name}")[0]
        found = sums(files, query)
        assert found[0] == rows
        assert tuple(map(int, found[:6])) == tuple(map(int, expected[:6])), name
        if rows:
            zone = expected[6].tzinfo
            low, high = (value if zone is None else value.astimezone(zone) for value in found[6:8])
            assert (low, high) == (expected[6], expected[7]), name
    assert snapshot(postgres) == before

    # A second run reads only what is new.
    postgres.execute("INSERT INTO t20 SELECT 900001, 1, now(), 'new'")
    second = rivet.run("run", "--json", timeout=300).assert_done().json()
    by_name = {item["name"]: item for item in second["exports"]}
    incremental = sorted(made).index("t20") % 4
    assert incremental in (0, 1)
    assert by_name["t20"]["rows"] == 1


@pytest.mark.postgres
def test_catalog_statements_do_not_grow_with_tables(rivet: Project, postgres: PostgresDatabase) -> None:
    rivet.environ["SHOP_URL"] = postgres.url
    counts = []
    for tables in (3, 60):
        for number in range(tables):
            postgres.execute(f"CREATE TABLE IF NOT EXISTS c{number} (id bigint PRIMARY KEY, t timestamptz)")
        names = [f"c{number}" for number in range(tables)]
        lines = "".join(f"  - {{name: {name}, table: public.{name}}}\n" for name in names)
        rivet.config("source: {type: postgres, url_env: SHOP_URL}\n" + OUT + "exports:\n" + lines)
        before = len(postgres.log.statements())
        plan = rivet.run("plan", "--json").assert_done().json()
        sent = postgres.log.statements()[before:]
        counts.append(len(sent))
        assert plan["sources"]["default"]["statements"] <= 12
        assert not [
            text for text in sent if text.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE", "CREATE", "ANALYZE"))
        ]
    assert counts[0] == counts[1]


@pytest.mark.postgres
def test_planning_twice_gives_the_same_plan_but_for_times_and_ids(rivet: Project, postgres: PostgresDatabase) -> None:
    postgres.execute("CREATE TABLE a (id bigint PRIMARY KEY)")
    postgres.execute("CREATE TABLE b (id bigint, t timestamptz)")
    rivet.environ["SHOP_URL"] = postgres.url
    rivet.config(
        "source: {type: postgres, url_env: SHOP_URL}\n" + OUT + "exports: [{name: a, table: a}, {name: b, table: b}]\n"
    )

    def stable(path: Path) -> str:
        data = json.loads(path.read_text())
        for key in ("created_at", "as_of", "expires_at", "plan_id", "seal"):
            del data[key]
        return json.dumps(data)

    for name in ("one.json", "two.json"):
        rivet.run("plan", "-o", name).assert_done()
    one, two = (json.loads((rivet.path / name).read_text()) for name in ("one.json", "two.json"))
    assert [item["scores"] for item in one["exports"]] == [item["scores"] for item in two["exports"]]
    assert one["campaign"]["ordered_exports"] == two["campaign"]["ordered_exports"]
    assert len(stable(rivet.path / "one.json")) == len(stable(rivet.path / "two.json"))
