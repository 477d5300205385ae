"""`rivet reconcile` and `rivet repair`: what disagrees is found, explained where it can be, and put right unit by unit."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.errors import SourceError
from rivet_core.state import open_state
from tests.cli.shop import CUSTOMERS, ORDERS, Shop

CHUNKS = {"name": "chunks", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 5}
DAYS = {"name": "days", "table": "visits", "mode": "time_window", "time_column": "at", "days_window": 3}
LAST = {"name": "last", "table": "orders", "mode": "incremental", "cursor_column": "updated_at", "lookback": "10s"}


@pytest.fixture
def shop(cli, tmp_path):
    made = Shop(tmp_path)
    made.config(ORDERS, CUSTOMERS, CHUNKS)
    assert cli("run", "-q").code == 0
    return made


def results(said):
    return {item["export"]: item["result"] for item in said.data["exports"]}


def bad_units(said, export):
    (found,) = (item for item in said.data["exports"] if item["export"] == export)
    return [unit["unit"] for unit in found["units"] if unit["result"] == "mismatch"]


def rewrite(path: Path, change) -> None:
    """Write a file again with other rows, its schema kept."""
    table = pq.read_table(path, partitioning=None)
    rows = change(table.to_pylist())
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def part_of(shop, export, unit):
    (part,) = (path for path in shop.parts(export) if path.name.startswith(f"part-{unit:05}"))
    return part


def rows_of(cli, export):
    files = cli("files", export, "--json").data["files"]
    return sorted((row for file in files for row in pq.read_table(file["path"], partitioning=None).to_pylist()), key=repr)


def test_what_was_written_matches_and_moves_the_verified_boundary(cli, shop):
    said = cli("reconcile", "--json")
    assert (said.code, set(results(said).values())) == (0, {"match"})
    (progress,) = cli("state", "progression", "-e", "orders", "--json").data["exports"]
    assert progress["verified"] == progress["committed"] != []


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda rows: [{**rows[0], "total": rows[0]["total"] + 1}, *rows[1:]], "as many rows, but not the same"),
        (lambda rows: rows[1:], "9 rows, the manifest says 10"),
        (lambda rows: [*rows, rows[-1]], "11 rows, the manifest says 10"),
        (lambda rows: [rows[1], *rows[1:]], "as many rows, but not the same"),
    ],
    ids=["changed", "lost", "twice", "one twice and one lost"],
)
def test_a_changed_file_is_a_mismatch_of_its_unit(cli, shop, change, detail):
    rewrite(part_of(shop, "chunks", 2), change)
    said = cli("reconcile", "-e", "chunks", "--json")
    assert said.code == 5
    assert bad_units(said, "chunks") == [2]
    assert detail in json.dumps(said.data)


def test_a_file_that_is_gone_or_no_parquet_is_a_mismatch(cli, shop):
    part_of(shop, "chunks", 0).unlink()
    part_of(shop, "chunks", 3).write_bytes(b"PAR1 nothing PAR1")
    said = cli("reconcile", "-e", "chunks", "--json")
    assert (said.code, bad_units(said, "chunks")) == (5, [0, 3])


@pytest.mark.parametrize(
    "script",
    [
        "UPDATE orders SET total = -1 WHERE id = 7",
        "DELETE FROM orders WHERE id = 7",
        "DELETE FROM orders WHERE id = 50",
        "UPDATE orders SET total = NULL WHERE id = 50; INSERT INTO orders VALUES (51, 1, '2025-01-01')",
    ],
    ids=["updated", "deleted", "last deleted", "updated and appended"],
)
def test_a_changed_source_row_is_a_mismatch(cli, shop, script):
    shop.sql(script)
    said = cli("reconcile", "-e", "orders", "-e", "chunks", "--json")
    assert said.code == 5
    assert results(said) == {"orders": "mismatch", "chunks": "mismatch"}
    (progress,) = cli("state", "progression", "-e", "orders", "--json").data["exports"]
    assert progress["verified"] == []


def test_rows_past_the_boundary_are_no_mismatch(cli, shop):
    shop.sql("INSERT INTO orders VALUES (51, 1, '2025-01-01 00:00:00'); INSERT INTO customers VALUES (3, 'c')")
    said = cli("reconcile", "--json")
    assert said.code == 0
    assert results(said) == {"orders": "match", "customers": "changed", "chunks": "changed"}
    assert "1 row added past id 50" in said.out


def test_a_cursor_that_moved_explains_a_row_that_is_gone(cli, shop):
    shop.sql("UPDATE orders SET total = 0, updated_at = '2025-01-01 00:00:00' WHERE id = 7")
    said = cli("reconcile", "-e", "orders", "--json")
    assert (said.code, results(said)) == (0, {"orders": "changed"})
    assert cli("run", "-q", "-e", "orders").code == 0
    said = cli("reconcile", "-e", "orders", "--json")
    assert (said.code, results(said)) == (0, {"orders": "changed"}), "the first run holds the row as it was"
    shop.sql("DELETE FROM orders WHERE id = 8")
    said = cli("reconcile", "-e", "orders", "--json")
    assert (said.code, bad_units(said, "orders")) == (5, [0])


def test_rows_without_a_cursor_are_compared_too(cli, shop):
    shop.sql("INSERT INTO orders VALUES (60, 1, NULL), (61, 1, NULL)")
    assert results(cli("reconcile", "-e", "orders", "--json")) == {"orders": "mismatch"}
    assert cli("run", "-q", "-e", "orders").code == 0
    assert results(cli("reconcile", "-e", "orders", "--json")) == {"orders": "match"}
    shop.sql("UPDATE orders SET updated_at = '2025-01-01 00:00:00' WHERE id = 60")
    assert results(cli("reconcile", "-e", "orders", "--json")) == {"orders": "changed"}


def test_a_lookback_delivers_rows_twice_and_each_run_is_compared_with_its_own_range(cli, shop):
    shop.config(LAST)
    assert cli("run", "-q").code == 0
    shop.sql("INSERT INTO orders VALUES (51, 1, '2024-01-01 00:00:55')")
    assert cli("run", "-q").code == 0
    assert results(cli("reconcile", "--json")) == {"last": "match"}
    shop.sql("UPDATE orders SET updated_at = '2024-01-01 00:00:58' WHERE id = 45")
    assert results(cli("reconcile", "--json")) == {"last": "changed"}
    shop.sql("UPDATE orders SET total = 99 WHERE id = 44")
    said = cli("reconcile", "--json")
    assert (said.code, results(said)) == (5, {"last": "mismatch"})


def test_a_window_is_compared_day_by_day(cli, shop):
    shop.sql(
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, at TIMESTAMP);"
        "INSERT INTO visits SELECT id, datetime('now', 'start of day', '-' || (id % 3) || ' days') FROM orders"
    )
    shop.config(DAYS)
    assert cli("run", "-q").code == 0
    assert results(cli("reconcile", "--json")) == {"days": "match"}
    shop.sql("INSERT INTO visits VALUES (1000, datetime('now', 'start of day', '+1 second'))")
    assert results(cli("reconcile", "--json")) == {"days": "changed"}
    shop.sql("INSERT INTO visits VALUES (1001, datetime('now', 'start of day', '-2 days', '+1 hour'))")
    said = cli("reconcile", "--json")
    assert (said.code, len(bad_units(said, "days"))) == (5, 1)
    assert cli("repair", "--execute", "-q").code == 0
    assert len(rows_of(cli, "days")) == 51


def test_a_dry_run_changes_nothing(cli, shop):
    rewrite(part_of(shop, "chunks", 2), lambda rows: rows[1:])
    before = {path: path.stat().st_mtime_ns for path in (shop.root / "out").rglob("*")}
    said = cli("repair", "-e", "chunks")
    assert said.code == 0
    assert "unit 2" in said.out
    assert "--execute" in said.err
    assert {path: path.stat().st_mtime_ns for path in (shop.root / "out").rglob("*")} == before


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_repair_exports_exactly_the_bad_units(cli, shop, form):
    shop.config({**CHUNKS, "format": form, "name": "again"})
    assert cli("run", "-q").code == 0
    shop.sql("UPDATE orders SET total = -5 WHERE id = 21")
    part_of(shop, "again", 4).unlink()
    before = cli("files", "again", "--json").data["files"]
    said = cli("repair", "--execute", "--json")
    assert said.code == 0
    (report,) = said.data["exports"]
    assert [unit["unit"] for unit in report["units"]] == [2, 4]
    assert (report["repaired"]["units"], report["repaired"]["rows"], report["after"]) == (2, 20, "match")
    after = cli("files", "again", "--json").data["files"]
    assert [file["rows"] for file in after] == [10] * 5
    assert {file["path"] for file in after} & {file["path"] for file in before} == {
        before[place]["path"] for place in (0, 1, 3)
    }
    assert cli("validate", "--depth", "full").code == 0
    assert cli("reconcile", "-q").code == 0
    replaced = before[2]["path"]
    assert replaced in cli("gc").out.split()
    assert cli("gc", "--execute", "-q").code == 0
    assert not Path(replaced).exists()
    assert cli("files", "again", "--json").data["files"] == after
    assert cli("validate", "--depth", "full").code == 0


def test_a_repaired_run_can_be_repaired_and_added_to(cli, shop):
    for total in (-1, -2):
        shop.sql(f"UPDATE orders SET total = {total} WHERE id = 7")
        assert cli("repair", "-e", "orders", "--execute", "-q").code == 0
        assert (7, total) in [(row["id"], row["total"]) for row in rows_of(cli, "orders")]
    shop.sql("INSERT INTO orders VALUES (51, 1, '2025-01-01 00:00:00')")
    assert cli("run", "-q", "-e", "orders").code == 0
    assert len(rows_of(cli, "orders")) == 51
    assert cli("gc", "--execute", "-q").code == 0
    assert results(cli("reconcile", "-e", "orders", "--json")) == {"orders": "match"}
    (last,) = cli("state", "show", "-e", "orders", "--json").data["exports"]
    assert last["last_run"]["status"] == "succeeded"


def test_repair_waits_for_nobody(cli, shop):
    shop.sql("UPDATE orders SET total = -5 WHERE id = 21")
    with open_state("sqlite:///.rivet/state.db", base=shop.root) as state:
        lease = state.leases.acquire("export:chunks")
        said = cli("repair", "-e", "chunks", "--execute")
        assert cli("reconcile", "-e", "chunks").code == 5, "looking needs no lease of the export"
        state.leases.release(lease)
    assert said.code == 6


def test_what_cannot_be_told_is_unknown(cli, shop):
    said = cli("reconcile", "-e", "ordres")
    assert said.code == 2
    shop.config(ORDERS, {**CUSTOMERS, "name": "fresh"})
    said = cli("reconcile", "--json")
    assert (said.code, results(said)) == (1, {"orders": "match", "fresh": "unknown"})
    shop.config({**ORDERS, "table": "customers"})
    assert results(cli("reconcile", "--json")) == {"orders": "unknown"}
    shop.config(ORDERS)
    (shop.root / "shop.db").rename(shop.root / "gone.db")
    said = cli("reconcile", "--json")
    assert (said.code, results(said)) == (1, {"orders": "unknown"})


def test_a_config_that_changed_is_no_mismatch_and_no_repair(cli, shop):
    shop.config({**CUSTOMERS, "columns": {"id": "decimal(10,0)"}})
    assert results(cli("reconcile", "--json")) == {"customers": "match"}, "the same numbers, spelled alike"
    shop.sql("UPDATE customers SET name = 'x'")
    said = cli("reconcile", "--json")
    assert (said.code, results(said)) == (1, {"customers": "unknown"})
    assert cli("repair", "--execute").code == 1


@pytest.mark.parametrize("answers", [0, 1])
def test_a_source_that_refuses_is_closed_again(cli, shop, monkeypatch, answers):
    closed = []
    asked = iter(range(answers))

    def refuse(self, probe=SqliteSession.probe):
        if next(asked, None) is None:
            raise SourceError("no answer", hint="look at the server", error_class="connection")
        return probe(self)

    def close(self, ended=SqliteSession.close):
        closed.append(id(self))
        ended(self)

    monkeypatch.setattr(SqliteSession, "probe", refuse)
    monkeypatch.setattr(SqliteSession, "close", close)
    said = cli("reconcile", "-e", "orders", "--json")
    assert (said.code, results(said)) == (1, {"orders": "unknown"})
    assert len(closed) == 1


def test_a_probe_leaves_no_connection_open_that_the_group_does_not_count(cli, shop, monkeypatch):
    limits = []

    def limit(self, connections, limited=SqliteSession.limit):
        limits.append(connections)
        limited(self, connections)

    monkeypatch.setattr(SqliteSession, "limit", limit)
    assert cli("reconcile", "-e", "orders", "--json").code == 0
    assert limits[:3] == [1, 0, 1]


def test_what_ends_the_look_at_an_export_is_an_error_line(cli, shop):
    config = (shop.root / "rivet.yaml").read_text().replace("shop.db", "${env:NOT_SET_ANYWHERE}")
    (shop.root / "rivet.yaml").write_text(config)
    for command in ("reconcile", "repair"):
        said = cli(command, "-e", "orders")
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith("error: orders: environment variable NOT_SET_ANYWHERE is not set")
        assert "hint: " in said.err
