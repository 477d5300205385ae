"""`rivet plan --split` on a real catalog: the spec stays the single source of truth, the dataset stays one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
import yaml

from rivet_core.artifact import read_plan, write_plan
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins
from rivet_core.running import ApplyOptions, apply_plan


@pytest.fixture
def planned(tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.executescript(
            "CREATE TABLE small (id INTEGER PRIMARY KEY); CREATE TABLE big (id INTEGER PRIMARY KEY, x BLOB);"
        )
        connection.executemany("INSERT INTO big VALUES (?, zeroblob(2000))", [(i,) for i in range(20000)])
        connection.commit()

    def plan(mode="chunked", **request):
        big = {"name": "big", "table": "big", "mode": mode, **({"chunk_count": 8} if mode == "chunked" else {})}
        data = {
            "source": {"type": "sqlite", "path": "shop.db", "source_group": "g"},
            "source_groups": {"g": {"max_connections": 4}},
            "destination": {"type": "local", "path": "out"},
            "exports": [big, {"name": "small", "table": "small"}],
        }
        (tmp_path / "rivet.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
        return build_plan(load_config(tmp_path / "rivet.yaml"), load_plugins(), PlanRequest(**request))

    return plan


def hints(plan):
    return [hint for hint in plan.campaign.concurrency_hints if "big" in hint]


def test_the_bound_is_named_with_what_a_split_gains(planned):
    plan = planned()
    assert plan.campaign.lower_bound.binding.kind == "longest"
    (hint,) = hints(plan)
    assert "big alone is the lower bound; rivet plan --split reads it in" in hint
    assert plan.export("big").spec["parallel"] == 1


def test_split_sets_parallel_keeps_the_units_and_counts_the_connections(planned, tmp_path):
    before, after = planned(), planned(split=True)
    big = after.export("big")
    parts = big.spec["parallel"]
    assert 2 <= parts <= 4
    assert big.units == before.export("big").units
    assert after.campaign.lower_bound.seconds < before.campaign.lower_bound.seconds
    assert big.predicted_seconds.p50 == pytest.approx(before.export("big").predicted_seconds.p50 / parts, rel=0.01)
    assert f"big is read in {parts} parts at once" in hints(after)[0]
    write_plan(after, tmp_path / "plan.json")
    outcome = apply_plan(read_plan(tmp_path / "plan.json"), load_plugins(), ApplyOptions())
    assert {export.name: export.rows for export in outcome.exports} == {"big": 20000, "small": 0}


def test_an_export_without_units_is_told_what_it_needs(planned):
    plan = planned(mode="full", split=True)
    assert plan.export("big").spec["parallel"] == 1
    assert "with mode: chunked, rivet plan --split can read it in parts" in hints(plan)[0]
