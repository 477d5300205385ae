"""A run adds only to the dataset that its cursor or window belongs to; anything else is refused before a row is read."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing

import pytest

from rivet_core.errors import IntegrityError, PlanRefused
from rivet_core.running import ApplyOptions, apply_plan

BY_ID = {"name": "orders", "table": "orders", "mode": "incremental", "cursor_column": "id"}
CHUNKED = {"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 3}


def refused(outcome, code):
    assert outcome.exit_code == PlanRefused.exit_code
    error = outcome.exports[0].error
    assert error["code"] == code, error
    assert "state reset" in error["hint"]


def test_a_cursor_without_its_dataset_is_refused(shop):
    shop.config(BY_ID)
    assert shop.apply().exit_code == 0
    shop.fill("orders", [(1000, 1, "2025-01-01")])
    shop.config(BY_ID, destination={"type": "local", "path": "./elsewhere"})
    refused(shop.apply(), "dataset_missing")
    assert not (shop.root / "elsewhere").exists() or not shop.files("orders")
    shop.config(BY_ID)
    shutil.move(shop.root / "out", shop.root / "moved")
    refused(shop.apply(), "dataset_missing")
    shutil.rmtree(shop.root / "out", ignore_errors=True)
    shutil.move(shop.root / "moved", shop.root / "out")
    assert shop.apply().exit_code == 0
    assert len(shop.rows("orders")) == 301


def test_a_dataset_of_another_cursor_is_refused(shop):
    shop.config(BY_ID)
    shop.apply()
    shop.config(BY_ID, destination={"type": "local", "path": "./two"}, state={"url": "sqlite:///two.db"})
    shop.apply()
    shop.fill("orders", [(1000, 1, "2025-01-01")])
    shop.apply()
    # The first state's cursor against the second config's dataset, which is further on.
    shop.config(BY_ID, destination={"type": "local", "path": "./two"})
    refused(shop.apply(), "dataset_other")


def test_another_table_under_the_same_name_is_refused(shop):
    shop.config(BY_ID)
    shop.apply()
    shop.sql("CREATE TABLE returns (id INTEGER PRIMARY KEY, total INTEGER, updated_at TIMESTAMP)")
    shop.fill("returns", [(2000, 1, "2025-01-01")])
    shop.config({**BY_ID, "table": "returns"})
    refused(shop.apply(), "dataset_subject")
    assert len(shop.rows("orders")) == 300


def test_a_window_never_drops_a_dataset_of_another_mode(shop):
    shop.config({"name": "orders", "table": "orders"})
    shop.apply()
    shop.config({"name": "orders", "table": "orders", "mode": "time_window", "time_column": "updated_at", "days_window": 3})
    outcome = shop.apply()
    assert outcome.exit_code == PlanRefused.exit_code
    assert outcome.exports[0].error["code"] == "dataset_mode"
    assert len(shop.rows("orders")) == 300


@pytest.mark.parametrize("lookback", [None, "10m"])
def test_a_tie_that_commits_after_a_killed_commit_is_delivered(shop, lookback):
    shop.sql("CREATE TABLE events (u TIMESTAMP, v INTEGER)")
    shop.fill("events", [("2024-01-01 00:00:01", 1), ("2024-01-01 00:00:02", 2), ("2024-01-01 00:00:03", 3)])
    export = {"name": "events", "table": "events", "mode": "incremental", "cursor_column": "u"}
    shop.config({**export, "lookback": lookback} if lookback else export)
    plan = shop.plan()
    code, _ = shop.apply_elsewhere(shop.plan_file(plan), fault="after_current")
    assert code == -signal.SIGKILL
    shop.fill("events", [("2024-01-01 00:00:03", 4), ("2024-01-01 00:00:04", 5)])
    # Another plan that was made before the kill was noticed: its unit begins at nothing.
    later = plan.model_copy(update={"plan_id": "later"})
    assert shop.apply(later).exit_code == 0
    assert {row[0] for row in shop.rows("events", "v")} == {1, 2, 3, 4, 5}
    assert shop.manifest("events")["delivery"] == "at_least_once"


def test_a_resume_never_mixes_two_schemas(shop):
    shop.config(CHUNKED)
    code, _ = shop.apply_elsewhere(shop.plan_file(), fault="unit_done:2")
    assert code == -signal.SIGKILL
    shop.sql("ALTER TABLE orders ADD COLUMN note TEXT")
    outcome = shop.apply(resume=True)
    assert outcome.exit_code == IntegrityError.exit_code
    assert "without --resume" in outcome.exports[0].error["hint"]
    assert shop.files("orders") == []
    assert shop.apply().exit_code == 0
    assert "note" in shop.table("orders").column_names


def test_a_lost_grade_takes_no_commit_back(shop):
    shop.config(BY_ID)
    assert shop.apply().exit_code == 0
    shop.fill("orders", [(i, i, None) for i in range(1000, 1010)])
    plan = shop.plan()
    with closing(sqlite3.connect(shop.root / ".rivet" / "state.db")) as state:
        state.execute("CREATE TRIGGER no_more BEFORE INSERT ON rivet_metric BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
        state.commit()
    (export,) = shop.apply(plan).exports
    assert (export.status, export.rows) == ("done", 10)
    assert "grade" in export.warnings[0]
    assert shop.apply(plan).exports[0].status == "already_done"
    with shop.state() as state:
        assert len(state.metrics("orders")) == 1
        assert [run.status for run in state.histories()["orders"]] == ["succeeded", "succeeded"]


def test_what_is_committed_stays_committed_in_the_state(shop):
    shop.config(BY_ID)
    outcome = shop.apply()
    from rivet_core.state import open_state

    with open_state("sqlite:///.rivet/state.db", base=shop.root) as state:
        run_id = outcome.exports[0].run_id
        state.runs.fail(run_id, status="failed", seconds=1.0, retries=0, error_class="other", error={})
        assert state.runs.status(run_id) == "succeeded"


def test_a_resume_never_mixes_two_databases(shop):
    """The config names another file under the same source: its rows are not those that the run began to read."""
    shop.config(CHUNKED)
    code, _ = shop.apply_elsewhere(shop.plan_file(), fault="unit_done:2")
    assert code == -signal.SIGKILL
    shutil.copy(shop.database, shop.root / "other.db")
    shop.sql("UPDATE orders SET total = -1")
    shop.config(CHUNKED, source={"type": "sqlite", "path": "other.db"})
    outcome = shop.apply(resume=True)
    assert (outcome.exit_code, outcome.exports[0].resumed_units) == (0, 0)
    assert -1 not in {total for (total,) in shop.rows("orders", "total")}


def test_what_another_process_committed_by_the_same_plan_is_not_read_again(shop):
    """PA4: two processes apply one plan; when the second one's turn comes, the first has been there."""
    names = ["customers", "orders"]
    shop.config(
        *({"name": name, "table": name} for name in names),
        planning={"workers": 1},
        source={"type": "sqlite", "path": "shop.db", "source_group": "shop"},
        source_groups={"shop": {"max_connections": 4}},
    )
    plan = shop.plan()
    other = []

    def meanwhile(event):
        if event.kind == "export_started" and not other:
            other.append(shop.apply(plan))

    outcome = apply_plan(plan, shop.registry, ApplyOptions(), meanwhile)
    first = {export.name: export.status for export in other[0].exports}
    assert sorted(first.values()) == ["done", "failed"]
    assert {export.name: export.status for export in outcome.exports} == {
        name: "done" if status == "failed" else "already_done" for name, status in first.items()
    }
