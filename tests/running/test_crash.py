"""kill -9 at every step of the order of effects, then again with --resume: nothing lost, nothing twice."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from rivet_core.artifact import read_plan
from rivet_core.running import ApplyOptions, apply_plan
from rivet_core.running.faults import STEPS

CHUNKED = {"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 3}
INCREMENTAL = {"name": "orders", "table": "orders", "mode": "incremental", "cursor_column": "updated_at"}
ALL = "SELECT id, total FROM orders"


def listed(project, export="orders"):
    manifest = project.manifest(export)
    return Counter(part["unit"] for part in manifest["parts"])


ONCE = [(step, 1) for step in STEPS]
LATER = [(step, 2) for step in ("part_published", "unit_done")]


@pytest.mark.parametrize(("step", "number"), ONCE + LATER)
def test_chunked_is_exactly_once(shop, step, number):
    shop.config(CHUNKED)
    plan = shop.plan()
    code, output = shop.apply_elsewhere(shop.plan_file(plan), fault=f"{step}:{number}")
    assert code == -signal.SIGKILL, output
    committed = STEPS.index(step) >= STEPS.index("after_current")
    assert bool(shop.files("orders")) is committed, "readers see the whole dataset or none of it"
    assert shop.apply(plan, resume=True).exit_code == 0
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)
    assert set(listed(shop).values()) == {1}
    stray = [path for path in (shop.root / "out").rglob("*part-*") if str(path) not in {f.path for f in shop.files("orders")}]
    assert stray == []


@pytest.mark.parametrize("step", ["part_published", "before_current", "after_current", "before_cursor", "after_cursor"])
def test_i08_incremental_is_exactly_once(shop, step):
    shop.config(INCREMENTAL)
    assert shop.apply().exit_code == 0
    shop.fill("orders", [(i, i * 10, f"2024-01-02 00:00:{i % 60:02d}") for i in range(301, 341)])
    code, _ = shop.apply_elsewhere(shop.plan_file(), fault=step)
    assert code == -signal.SIGKILL
    # A new plan, made from whatever the state says now.
    assert shop.apply(resume=True).exit_code == 0
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)
    with shop.state() as state:
        assert [mark.value for mark in state.cursor("orders")] == ["2024-01-02 00:00:40", max_key(shop)]


def max_key(shop):
    found = shop.source_rows("SELECT id FROM orders WHERE updated_at = (SELECT max(updated_at) FROM orders)")
    return str(max(row[0] for row in found))


def test_resume_reads_only_what_is_missing(shop):
    shop.config(CHUNKED)
    plan = shop.plan_file()
    shop.apply_elsewhere(plan, fault="unit_done:2")
    outcome = shop.apply(read_plan(plan), resume=True)
    assert outcome.exit_code == 0
    assert [event.data["unit"] for event in shop.events if event.kind == "unit_done"] == [2]
    assert outcome.exports[0].resumed_units == 2


@pytest.mark.parametrize(
    ("deaths", "known"), [(["unit_done:2"], False), (["part_open"], True), (["part_open", "before_cursor"], False)]
)
def test_what_a_resume_took_is_no_measure_of_the_whole(shop, deaths, known):
    """The last death of three comes after the commit; what lies between the first and the second is no work."""
    shop.config(CHUNKED)
    plan = shop.plan_file()
    for fault in deaths:
        assert shop.apply_elsewhere(plan, fault=fault, resume=True)[0] == -signal.SIGKILL
    assert shop.apply(read_plan(plan), resume=True).exit_code == 0
    with shop.state() as state:
        (run,) = state.histories()["orders"]
        assert (run.status, run.rows, run.seconds is not None) == ("succeeded", 300, known)
        assert any(metric.predicted_p50 is not None for metric in state.metrics()) is known
    (export,) = shop.plan().exports
    assert (export.predicted_seconds.basis == "measured") is known


def test_a_run_that_dies_each_time_it_is_resumed_is_a_suspect(shop):
    shop.config(CHUNKED, {"name": "customers", "table": "customers", "depends_on": ["orders"]})
    plan = shop.plan_file()
    for death in range(3):
        code, output = shop.apply_elsewhere(plan, fault="part_open", resume=True)
        assert code == -signal.SIGKILL, output
        assert ("orders failed alike" in output) is False, death
    outcome = shop.apply(read_plan(plan), resume=True)
    assert [warning for warning in outcome.warnings if warning.startswith("orders failed alike in its last 3 runs")]
    assert [export.status for export in outcome.exports] == ["done", "done"]
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)
    outcome = shop.apply()
    assert not [warning for warning in outcome.warnings if "failed alike" in warning]


def test_a_run_that_fails_alike_each_time_it_is_resumed_is_a_suspect(shop):
    shop.config(CHUNKED)
    plan = shop.plan()
    shop.sql("UPDATE orders SET total = 'much' WHERE id = 250")
    for _ in range(3):
        outcome = shop.apply(plan, resume=True)
        assert [export.status for export in outcome.exports] == ["failed"]
        assert not [warning for warning in outcome.warnings if "failed alike" in warning]
    shop.sql("UPDATE orders SET total = 2500 WHERE id = 250")
    outcome = shop.apply(plan, resume=True)
    assert [warning for warning in outcome.warnings if warning.startswith("orders failed alike in its last 3 runs")]
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)


def test_resume_uses_the_units_of_the_run_that_started(shop):
    shop.config(CHUNKED)
    shop.apply_elsewhere(shop.plan_file(), fault="unit_done:1")
    shop.sql("DELETE FROM orders WHERE id > 290")
    before = [unit.upper for unit in shop.plan().exports[0].units]
    assert shop.apply(resume=True).exit_code == 0
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)
    assert len(before) == 3


def test_a_damaged_part_is_read_again(shop):
    shop.config(CHUNKED)
    plan = shop.plan_file()
    shop.apply_elsewhere(plan, fault="unit_done:2")
    part = next((shop.root / "out").rglob("part-00000-000.parquet"))
    data = part.read_bytes()
    part.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert shop.apply(read_plan(plan), resume=True).exit_code == 0
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)


def test_without_resume_a_new_run_starts(shop):
    shop.config(CHUNKED)
    plan = shop.plan_file()
    shop.apply_elsewhere(plan, fault="unit_done:2")
    assert shop.apply(read_plan(plan)).exit_code == 0
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)
    with shop.state() as state:
        assert sorted(run.status for run in state.histories()["orders"]) == ["killed", "succeeded"]


def test_a_run_that_a_later_one_overtook_is_not_resumed_whatever_the_clock_said(shop):
    shop.config(CHUNKED)
    shop.apply_elsewhere(shop.plan_file(), fault="unit_done:2")
    with closing(sqlite3.connect(shop.root / ".rivet" / "state.db")) as state:
        state.execute("UPDATE rivet_run SET started_at = '2126' || substr(started_at, 5)")
        state.commit()
    for _ in range(2):
        shop.sql("UPDATE orders SET total = total + 1")
        outcome = shop.apply(resume=bool(shop.files("orders")))
        assert (outcome.exit_code, outcome.exports[0].resumed_units) == (0, 0)
        assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)


def test_what_was_removed_under_a_run_is_not_committed(shop):
    shop.config(CHUNKED)
    done = []

    def meanwhile(event):
        if event.kind == "unit_done" and not done:
            done.append(event)
            shutil.rmtree(shop.root / "out")

    outcome = apply_plan(shop.plan(), shop.registry, ApplyOptions(), meanwhile)
    assert (outcome.exit_code, outcome.exports[0].error["code"]) == (1, "part_gone")
    assert shop.files("orders") == []
    again = shop.apply(resume=True)
    assert (again.exit_code, again.exports[0].resumed_units) == (0, 2)
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)
