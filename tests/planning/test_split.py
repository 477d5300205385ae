"""`rivet plan --split` on a real catalog: the units become several schedule entries, the dataset stays one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
import yaml

from rivet_core.artifact import read_plan, write_plan
from rivet_core.artifact.canonical import plan_bytes
from rivet_core.artifact.diff import diff_plans
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins
from rivet_core.running import ApplyOptions, apply_plan
from rivet_core.scheduling.plan_campaign import campaign_from_plan
from rivet_core.scheduling.shares import share_names


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
    assert "big is alone the lower bound; rivet plan --split makes" in hint
    assert plan.export("big").split_in is None
    assert b"split_in" not in plan_bytes(plan)


def test_the_units_stay_and_become_entries_of_the_schedule(planned, tmp_path):
    before, after = planned(), planned(split=True)
    big = after.export("big")
    assert 2 <= big.split_in <= 4
    assert big.spec == before.export("big").spec
    assert big.units == before.export("big").units
    assert big.predicted_seconds == before.export("big").predicted_seconds
    assert after.campaign.lower_bound.seconds < before.campaign.lower_bound.seconds
    assert after.campaign.predicted.makespan_seconds < before.campaign.predicted.makespan_seconds
    assert sorted(name for wave in after.campaign.waves for name in wave.exports) == ["big", "small"]
    assert f"the units of big are {big.split_in} entries of the schedule" in hints(after)[0]
    write_plan(after, tmp_path / "plan.json")
    campaign = campaign_from_plan(json.loads((tmp_path / "plan.json").read_bytes()))
    assert [job.name for job in campaign.jobs] == [*share_names("big", big.split_in), "small"]
    seconds = sum(job.predicted_seconds for job in campaign.jobs if job.share_of)
    assert seconds == pytest.approx(big.predicted_seconds.p50)
    outcome = apply_plan(read_plan(tmp_path / "plan.json"), load_plugins(), ApplyOptions())
    assert {export.name: export.rows for export in outcome.exports} == {"big": 20000, "small": 0}


def test_the_bound_of_a_split_export_is_told_by_its_own_name(planned):
    plan = planned(split=True, workers=2)
    assert plan.export("big").split_in == 2
    assert (plan.campaign.lower_bound.binding.kind, plan.campaign.lower_bound.binding.name) in (
        ("longest", "big"),
        ("workers", ""),
    )


def test_exports_are_not_split_into_what_workers_and_connections_cannot_read(planned):
    assert planned(split=True, workers=1).export("big").split_in is None


def test_an_export_without_units_is_told_what_it_needs(planned):
    plan = planned(mode="full", split=True)
    assert plan.export("big").split_in is None
    assert "with mode: chunked, rivet plan --split makes entries of its units" in hints(plan)[0]


def test_a_diff_names_what_was_split(planned):
    found = diff_plans(planned(), planned(split=True))
    (big,) = [change for change in found.changed if change.name == "big"]
    assert big.fields["split_in"][0] is None
    assert big.fields["split_in"][1] >= 2
