"""One export end to end, by mode: what is the dataset afterwards, and where is the cursor."""

from __future__ import annotations

import json

import pytest

from rivet_core.errors import BusyError
from rivet_core.running.outcome import ALREADY_DONE
from rivet_core.state import open_state

INCREMENTAL = {"name": "orders", "table": "orders", "mode": "incremental", "cursor_column": "updated_at"}
ALL = "SELECT id, total FROM orders"


def cursor(shop, export="orders"):
    with shop.state() as state:
        return [mark.value for mark in state.cursor(export)]


def test_full_replaces_what_was_there(shop):
    shop.config({"name": "customers", "table": "customers"})
    assert shop.apply().exit_code == 0
    shop.sql("DELETE FROM customers WHERE id > 10")
    assert shop.apply().exit_code == 0
    assert shop.rows("customers") == shop.source_rows("SELECT * FROM customers")


def test_o09_fewer_parts_than_before_leave_no_old_ones_visible(shop):
    shop.config({"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 5})
    shop.apply()
    assert len(shop.files("orders")) == 5
    shop.sql("DELETE FROM orders WHERE id > 30")
    shop.config({"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 2})
    shop.apply()
    assert len(shop.files("orders")) == 2
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)


def test_o09_an_emptied_table_leaves_no_old_rows(shop):
    shop.config({"name": "customers", "table": "customers"})
    shop.apply()
    shop.sql("DELETE FROM customers")
    shop.apply()
    assert [file.rows for file in shop.files("customers")] == [0]
    assert shop.table("customers").column_names == ["id", "name"]


def test_skip_empty_writes_no_file(shop):
    shop.sql("DELETE FROM customers")
    shop.config({"name": "customers", "table": "customers", "skip_empty": True})
    assert shop.apply().exit_code == 0
    assert shop.files("customers") == []
    assert not list((shop.root / "out").rglob("*.parquet"))


def test_incremental_second_run_reads_only_what_is_new(shop):
    shop.config({**INCREMENTAL, "null_cursor": "skip"})
    shop.apply()
    shop.fill("orders", [(1000, 1, "2024-02-01 00:00:00")])
    outcome = shop.apply()
    assert outcome.exports[0].rows == 1
    assert shop.rows("orders", "id") == shop.source_rows("SELECT id FROM orders WHERE updated_at IS NOT NULL")
    assert cursor(shop) == ["2024-02-01 00:00:00", "1000"]


def test_i06_nothing_new_leaves_cursor_and_files(shop):
    shop.config(INCREMENTAL)
    shop.apply()
    files, before = shop.files("orders"), cursor(shop)
    outcome = shop.apply()
    assert (outcome.exit_code, outcome.exports[0].rows) == (0, 0)
    assert shop.files("orders") == files
    assert cursor(shop) == before
    assert len(list((shop.root / "out").rglob("*.parquet"))) == len(files)
    shop.fill("orders", [(1000, 1, "2024-02-01 00:00:00")])
    shop.apply()
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)


def test_i06_an_empty_first_run_leaves_the_cursor_unset(shop):
    shop.sql("DELETE FROM orders")
    shop.config(INCREMENTAL)
    assert shop.apply().exit_code == 0
    assert cursor(shop) == []
    assert [file.rows for file in shop.files("orders")] == [0]
    shop.fill("orders", [(1, 1, "2024-02-01 00:00:00")])
    shop.apply()
    assert shop.rows("orders", "id", "total") == [(1, 1)]
    assert cursor(shop) == ["2024-02-01 00:00:00", "1"]


def test_rows_without_a_cursor_supersede_their_last_part(shop):
    shop.config(INCREMENTAL)
    shop.apply()
    shop.sql("UPDATE orders SET updated_at = '2024-03-01 00:00:00' WHERE id = 50; DELETE FROM orders WHERE id = 100;")
    shop.fill("orders", [(2000, 7, None)])
    shop.apply()
    rows = shop.rows("orders", "id", "total")
    assert [row for row in rows if row[0] in (50, 100, 2000)] == [(2000, 7), (50, 500)]
    assert len(rows) == len(set(rows))


def test_null_cursor_fail(shop):
    shop.config({**INCREMENTAL, "null_cursor": "fail"})
    outcome = shop.apply()
    assert outcome.exit_code in (1, 5)  # the source may notice first
    assert "updated_at" in outcome.exports[0].error["message"]
    assert cursor(shop) == []
    assert shop.files("orders") == []


def test_back_to_full_starts_a_new_dataset_and_clears_the_cursor(shop):
    shop.config(INCREMENTAL)
    shop.apply()
    shop.config({"name": "orders", "table": "orders"})
    shop.apply()
    assert cursor(shop) == []
    shop.config(INCREMENTAL)
    shop.apply()
    shop.fill("orders", [(1000, 1, "2024-02-01 00:00:00")])
    shop.apply()
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)


def test_a_plan_commits_an_export_once(shop):
    shop.config(INCREMENTAL)
    plan = shop.plan()
    shop.apply(plan)
    outcome = shop.apply(plan)
    assert [export.status for export in outcome.exports] == [ALREADY_DONE]
    assert outcome.exit_code == 0


def test_pa4_a_moved_cursor_refuses_the_plan(shop):
    from rivet_core.errors import PlanRefused

    shop.config(INCREMENTAL)
    plan = shop.plan()
    shop.apply()
    with pytest.raises(PlanRefused, match="cursor moved"):
        shop.apply(plan)


def test_two_runs_at_once_one_is_busy(shop):
    shop.config(INCREMENTAL)
    with open_state("sqlite:///.rivet/state.db", base=shop.root) as state:
        state.leases.acquire("export:orders")
        outcome = shop.apply()
    assert outcome.exit_code == BusyError.exit_code
    assert "process" in outcome.exports[0].error["message"]


def test_time_window_replaces_the_days_it_covers(shop):
    shop.sql("CREATE TABLE visits (id INTEGER PRIMARY KEY, at TIMESTAMP)")
    shop.sql(
        "INSERT INTO visits SELECT value, datetime('now', '-' || (value * 6) || ' hours')"
        " FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 40) SELECT value FROM n)"
    )
    window = {"name": "visits", "table": "visits", "mode": "time_window", "time_column": "at"}
    shop.config({**window, "days_window": 5})
    shop.apply()
    wide = shop.rows("visits", "id")
    assert len(wide) >= 19
    shop.sql("DELETE FROM visits WHERE at > datetime('now', '-1 days')")
    shop.config({**window, "days_window": 2})
    assert shop.apply().exit_code == 0
    ids = [row[0] for row in shop.rows("visits", "id")]
    assert len(ids) == len(set(ids))
    assert set(ids) < {row[0] for row in wide}
    kept = {row[0] for row in shop.source_rows("SELECT id FROM visits")}
    assert {i for i in ids if i in kept} == {row[0] for row in wide if row[0] in kept}


def test_quality_breach_commits_nothing(shop):
    shop.config({"name": "customers", "table": "customers", "quality": {"row_count_min": 1000}})
    outcome = shop.apply()
    assert outcome.exit_code == 5
    assert "row_count_min" in outcome.exports[0].error["message"]
    assert shop.files("customers") == []


@pytest.mark.parametrize(("policy", "code"), [("warn", 5), ("fail", 5), ("continue", 0)])
def test_o07_incompatible_files_never_share_a_dataset_silently(shop, policy, code):
    shop.config({**INCREMENTAL, "on_schema_drift": policy})
    shop.apply()
    shop.sql("ALTER TABLE orders DROP COLUMN total")
    shop.fill("orders", [(1000, "2024-02-01 00:00:00")])
    outcome = shop.apply()
    assert outcome.exit_code == code
    if code:
        assert "total" in outcome.exports[0].error["message"]
    else:
        assert "total" in outcome.exports[0].warnings[0]
        assert "total" in shop.manifest("orders")["drift"][0]


def test_o07_an_added_column_only_warns(shop):
    shop.config(INCREMENTAL)
    shop.apply()
    shop.sql("ALTER TABLE orders ADD COLUMN note TEXT; UPDATE orders SET updated_at = '2024-05-01 00:00:00' WHERE id = 3")
    outcome = shop.apply()
    assert outcome.exit_code == 0
    assert "note" in outcome.exports[0].warnings[0]


def test_manifest_says_what_is_in_each_part(shop):
    shop.config({"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 3, "parallel": 3})
    shop.apply()
    manifest = shop.manifest("orders")
    assert [part["unit"] for part in manifest["parts"]] == [0, 1, 2]
    assert sum(part["rows"] for part in manifest["parts"]) == manifest["rows"] == 300
    assert sum(part["columns"]["updated_at"]["null_count"] for part in manifest["parts"]) == 6
    assert manifest["parts"][0]["columns"]["id"]["min"] == "1"
    assert manifest["parts"][1]["lower"] == manifest["parts"][0]["upper"]
    for part, file in zip(manifest["parts"], shop.files("orders"), strict=True):
        assert file.path.endswith(part["path"])
    assert json.dumps(manifest)


def test_partitions_tokens_and_added_columns(shop):
    shop.config(
        {
            "name": "orders",
            "table": "orders",
            "partition_by": "updated_at",
            "meta_columns": {"exported_at": True, "row_hash": True},
            "destination": {"type": "local", "path": "./lake/{source}/{table}/{date}"},
        }
    )
    outcome = shop.apply()
    assert outcome.exit_code == 0, outcome.as_dict()
    paths = [file.path for file in shop.files("orders")]
    assert any("updated_at=2024-01-01" in path for path in paths)
    assert any("updated_at=__HIVE_DEFAULT_PARTITION__" in path for path in paths)
    assert shop.rows("orders", "id", "total") == shop.source_rows(ALL)
    table = shop.table("orders")
    assert len(set(table.column("_rivet_row_hash").to_pylist())) == 300
    assert (shop.root / "lake" / "orders" / "_rivet" / "current.json").exists()


def test_added_columns_of_a_name_that_the_source_has_are_refused(shop):
    shop.config({"name": "orders", "query": "SELECT 1 AS _rivet_row_hash", "meta_columns": {"row_hash": True}})
    failed = shop.apply().exports[0]
    assert "_rivet_row_hash, and the source has a column of that name" in failed.error["message"]


def test_max_file_size_splits_parts(shop):
    shop.fill("customers", [(i, f"{i * 7919 % 1000003:032x}") for i in range(101, 60001)])
    shop.config({"name": "customers", "table": "customers", "max_file_size": "1MB", "compression": "none"})
    shop.apply()
    files = shop.files("customers")
    assert len(files) > 1
    assert all(file.bytes <= 1_000_000 for file in files)
    assert len(shop.rows("customers")) == 60000


def test_lookback_delivers_again_says_so_and_never_moves_back(shop):
    shop.config({**INCREMENTAL, "null_cursor": "skip", "lookback": "30s"})
    shop.apply()
    before = cursor(shop)
    shop.fill("orders", [(1000, 1, "2024-01-01 00:04:50")])  # committed late: behind the cursor
    assert shop.apply().exit_code == 0
    ids = [row[0] for row in shop.rows("orders", "id")]
    assert 1000 in ids
    assert len(ids) > len(set(ids))
    manifest = shop.manifest("orders")
    assert (manifest["delivery"], manifest["dedupe_key"]) == ("at_least_once", ["id"])
    assert cursor(shop) == before
    shop.sql("DELETE FROM orders WHERE updated_at > '2024-01-01 00:04:55'")
    shop.apply()
    assert cursor(shop) == before
