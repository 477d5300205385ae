"""A catalog that lies may change what is recommended, and never what is delivered."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rivet_core.artifact import Plan
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins
from rivet_core.running.apply import ApplyOptions, apply_plan
from rivet_core.state import read_state

CONFIG = """
source: {type: postgres, url_env: LYING_URL}
destination: {type: local, path: out}
exports:
  - {name: small, table: small}
  - {name: large, table: large}
  - {name: grown, table: grown, mode: incremental, cursor_column: id}
  - {name: cut, table: cut, mode: chunked, chunk_column: id, chunk_size: 500}
"""
TABLES = {"small": 300, "large": 20_000, "grown": 3_000, "cut": 4_000}

LIES = """
UPDATE pg_class SET reltuples = 4e9, relpages = 60000000 WHERE relname = 'small';
UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relname IN ('large', 'grown');
UPDATE pg_class SET reltuples = 7, relpages = 1 WHERE relname = 'cut';
UPDATE pg_statistic SET stanullfrac = 0.9, stadistinct = 2 WHERE starelid IN ('grown'::regclass, 'cut'::regclass);
"""


def planned(folder: Path) -> Plan:
    config, registry = load_config(folder / "rivet.yaml"), load_plugins()
    return build_plan(config, registry, PlanRequest(as_of=datetime.now(UTC)))


def delivered(folder: Path, plan: Plan) -> dict[str, list[tuple[object, ...]]]:
    outcome = apply_plan(plan, load_plugins(), ApplyOptions(), lambda event: None)
    assert outcome.exit_code == 0
    found = {}
    for name in TABLES:
        tables = [pq.read_table(path, partitioning=None).to_pylist() for path in (folder / "out" / name).rglob("*.parquet")]
        found[name] = sorted(tuple(row.values()) for rows in tables for row in rows)
    return found


def test_an_edited_catalog_changes_ranks_and_never_a_dataset_or_a_cursor(source, tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LYING_URL", source.database.url)
    for name, rows in TABLES.items():
        source.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, note text)")
        source.execute(f"INSERT INTO {name} SELECT g, repeat('n', 50) FROM generate_series(1, {rows}) g")
    source.execute("ANALYZE")
    folders = [tmp_path / "honest", tmp_path / "lying"]
    for folder in folders:
        folder.mkdir()
        (folder / "rivet.yaml").write_text(CONFIG)
    honest = planned(folders[0])
    source.execute(LIES, admin=True)
    lying = planned(folders[1])
    assert honest.campaign.ordered_exports != lying.campaign.ordered_exports
    assert [export.estimated for export in honest.exports] != [export.estimated for export in lying.exports]
    one, two = (delivered(folder, plan) for folder, plan in zip(folders, (honest, lying), strict=True))
    assert one == two
    assert {name: len(rows) for name, rows in one.items()} == TABLES
    cursors = []
    for folder in folders:
        with read_state("sqlite:///.rivet/state.db", base=folder) as state:
            cursors.append(state.cursors())
    assert cursors[0] == cursors[1]
    assert cursors[0]["grown"][0].value == "3000"
