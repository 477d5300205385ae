"""Orphans go, everything that somebody may need stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rivet_core.running.gc import find_garbage, remove
from rivet_core.running.layout import Layout
from rivet_core.running.publish import Dataset
from rivet_core.stores import open_store

CHUNKED = {"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 3}


@pytest.fixture
def dataset(shop):
    shop.config(CHUNKED)
    target = shop.registry.open_destination("local", {"path": "out"}, base=shop.root)
    return Dataset(open_store(target), Layout(export="orders"))


def look(shop, dataset, *, keep_runs=2, now=None):
    with shop.state() as state:
        return find_garbage(
            dataset, live=state.runs.live(), known=lambda run: state.runs.status(run) is not None, keep_runs=keep_runs, now=now
        )


def test_old_runs_beyond_those_to_keep(shop, dataset):
    runs = [shop.apply().exports[0].run_id for _ in range(4)]
    garbage = look(shop, dataset)
    assert set(garbage.spared) == set(sorted(runs)[-2:])
    before = shop.rows("orders")
    remove(dataset, garbage)
    assert shop.rows("orders") == before
    assert len(list((shop.root / "out" / "orders").glob("run=*"))) == 2
    assert look(shop, dataset).files == ()


def test_m15_what_can_be_resumed_is_spared(shop, dataset):
    plan = shop.plan()
    shop.apply_elsewhere(shop.plan_file(plan), fault="unit_done:2")
    garbage = look(shop, dataset, keep_runs=1)
    assert garbage.files == ()
    assert list(garbage.spared.values()) == ["is running or can be resumed"]
    assert shop.apply(plan, resume=True).exports[0].resumed_units == 2


def test_a_broken_off_run_goes_once_a_newer_one_is_there(shop, dataset):
    shop.apply_elsewhere(shop.plan_file(), fault="unit_done:2")
    shop.apply()
    garbage = look(shop, dataset)
    assert len([entry for entry in garbage.files if "part-" in entry.key]) == 2


def test_the_chain_of_an_incremental_export_is_never_old(shop, dataset):
    shop.config({"name": "orders", "table": "orders", "mode": "incremental", "cursor_column": "id"})
    for number in range(4):
        shop.fill("orders", [(1000 + number, 1, None)])
        shop.apply()
    assert look(shop, dataset, keep_runs=1).files == ()


def test_strangers_are_spared_for_a_day(shop, dataset):
    shop.apply()
    store = dataset.store
    stranger = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-0123abcd"
    store.put(f"orders/run={stranger}/part-00000-000.parquet", b"x")
    store.put("orders/notes.txt", b"mine")
    store.put("orders_archive/run=20200101T000000000000-0123abcd/part-00000-000.parquet", b"x")
    assert look(shop, dataset).files == ()
    later = look(shop, dataset, now=datetime.now(UTC) + timedelta(days=2))
    assert [entry.key for entry in later.files] == [f"orders/run={stranger}/part-00000-000.parquet"]


def test_a_temporary_file_in_a_run_of_the_dataset_goes(shop, dataset):
    """Left by a repair that was killed, or by a process that lost its lease to the one that committed the run."""
    shop.apply()
    part = next((shop.root / "out" / "orders").rglob("part-*.parquet"))
    left = part.with_name(f".{part.name}.0123456789ab.tmp")
    left.write_bytes(b"half")
    assert [shop.root / "out" / entry.key for entry in look(shop, dataset).files] == [left]
