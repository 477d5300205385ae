"""Incremental reads that lost rows for users of other tools (cases I02-I04, I06, I07, I10, I12), on both kinds of server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.system.campaigns import counts, dataset
from tests.system.either import Shop


def test_i02_a_smaller_id_that_commits_later_is_delivered_within_the_lookback(any_shop: Shop) -> None:
    any_shop.sql("CREATE TABLE t(id int PRIMARY KEY, at timestamp(6) NOT NULL)")
    any_shop.sql("INSERT INTO t VALUES (1, '2024-01-01 00:00:01'), (2, '2024-01-01 00:00:02')")
    any_shop.export(mode="incremental", cursor_column="at", lookback="1h")
    holder = any_shop.database.connect()
    try:
        holder.autocommit = False if any_shop.kind == "postgres" else holder.autocommit
        begin(holder, "INSERT INTO t VALUES (3, '2024-01-01 00:00:03')")
        any_shop.sql("INSERT INTO t VALUES (4, '2024-01-01 00:00:04')")
        assert {row["id"] for row in any_shop.run()} == {1, 2, 4}
        holder.commit()
    finally:
        holder.close()
    assert {row["id"] for row in any_shop.run()} == {1, 2, 3, 4}
    assert {row["id"] for row in any_shop.run()} == {1, 2, 3, 4}


def begin(connection: Any, statement: str) -> None:
    """Change something in a transaction that stays open."""
    if hasattr(connection, "begin"):
        connection.begin()
    connection.cursor().execute(statement)


def test_i02_without_a_lookback_the_plan_warns_of_late_commits(any_shop: Shop) -> None:
    any_shop.sql("CREATE TABLE t(id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)")
    any_shop.export(mode="incremental", cursor_column="id")
    warnings = any_shop.plan().model_dump(mode="json")["exports"][0]["diagnostics"]["warnings"]
    assert any("committed late" in warning for warning in warnings)


def test_i03_rows_that_commit_at_the_boundary_during_a_read_come_with_the_next(any_shop: Shop) -> None:
    """No maximum is asked for: the cursor is the greatest value that was written, so that no gap can open."""
    any_shop.sql("CREATE TABLE t(id int PRIMARY KEY, at timestamp(6) NOT NULL, pad varchar(300))")
    any_shop.sql(f"INSERT INTO t {any_shop.series(4000, at(any_shop, 'n') + ', ' + chr(39) + 'x' * 300 + chr(39))}")
    any_shop.export(mode="incremental", cursor_column="at", tuning={"batch_size": 500})
    added = iter(range(5001, 5100))

    def commit_a_tie(event: Any) -> None:
        if event.kind in ("progress", "unit_done"):
            any_shop.sql(f"INSERT INTO t SELECT {next(added)}, MAX(at), 'late' FROM t")

    outcome = any_shop.apply(None, commit_a_tie)
    assert counts(outcome) == {"done": 1}
    assert any_shop.told("unit_done")
    found = [row["id"] for row in any_shop.run()]
    there = [row[0] for row in any_shop.database.execute("SELECT id FROM t")]
    assert len(there) > 4000
    assert sorted(found) == sorted(there)
    # The statements that commit the ties above are the test bed's own, which the log leaves out.
    assert not any(f"max({'`at`' if any_shop.kind == 'mysql' else 'at'})" in str(one).lower() for one in any_shop.log())


def at(shop: Shop, number: str) -> str:
    """Return columns id and at of row `number`: 40 rows share a moment."""
    if shop.kind == "postgres":
        return f"{number}, timestamp '2024-01-01' + ({number} / 40) * interval '1 second'"
    return f"{number}, '2024-01-01' + INTERVAL ({number} DIV 40) SECOND"


def test_i04_a_first_load_that_dies_saves_no_cursor(any_shop: Shop) -> None:
    any_shop.sql("CREATE TABLE t(id int NOT NULL UNIQUE, v int)")
    for number in (5, 1, 3, 2, 4):
        any_shop.sql(f"INSERT INTO t VALUES ({number}, {number})")
    any_shop.export(mode="incremental", cursor_column="id", tuning={"batch_size": 1})
    for step in ("part_open", "unit_done", "before_current"):
        killed = any_shop.project.run("run", environ={"RIVET_FAULT": step})
        assert killed.exit_code == -9, killed
        assert not any(any_shop.cursor()), "a cursor was saved"
    assert sorted(row["id"] for row in any_shop.run(resume=True)) == [1, 2, 3, 4, 5]


def test_i06_nothing_new_moves_no_cursor_and_an_empty_table_sets_none(any_shop: Shop) -> None:
    any_shop.sql("CREATE TABLE t(id int PRIMARY KEY, v int)")
    any_shop.export(mode="incremental", cursor_column="id")
    assert any_shop.run() == []
    assert not any(any_shop.cursor())
    any_shop.sql(*(f"INSERT INTO t VALUES ({number}, 0)" for number in range(1, 6)))
    assert len(any_shop.run()) == 5
    before = any_shop.cursor()
    assert len(any_shop.run()) == 5
    assert any_shop.cursor() == before
    any_shop.sql("INSERT INTO t VALUES (6, 0)")
    assert len(any_shop.run()) == 6


def test_i07_rows_that_move_while_a_chunked_load_runs_are_read_again(any_shop: Shop) -> None:
    any_shop.sql("CREATE TABLE t(id int PRIMARY KEY, at timestamp(6) NOT NULL, v int NOT NULL)")
    any_shop.sql(f"INSERT INTO t {any_shop.series(300, at(any_shop, 'n') + ', 0')}")
    any_shop.export(mode="chunked", chunk_size=100, chunk_count=3)
    changes = {
        0: "UPDATE t SET at = '2024-02-01 00:00:09', v = 1 WHERE id = 5",
        1: "UPDATE t SET at = '2024-02-01 00:00:10', v = 1 WHERE id = 250",
        2: "UPDATE t SET at = '2024-02-01 00:00:08', v = 1 WHERE id BETWEEN 20 AND 30",
    }

    def change(event: Any) -> None:
        if event.kind == "unit_done":
            any_shop.sql(changes[event.data["unit"]])

    assert counts(any_shop.apply(None, change)) == {"done": 1}
    assert len(any_shop.told("unit_done")) == 3
    any_shop.export(mode="incremental", cursor_column="at")
    rows = any_shop.run()
    assert {row["id"] for row in rows if row["v"] == 1} == {5, 250, *range(20, 31)}
    assert {row["id"] for row in rows} == set(range(1, 301))


@pytest.mark.parametrize("key", ["PRIMARY KEY", "NOT NULL"])
def test_i12_a_moment_that_all_rows_share_keeps_the_state_small(any_shop: Shop, key: str) -> None:
    rows = 300_000 if any_shop.kind == "postgres" else 60_000
    any_shop.sql(f"CREATE TABLE t(id int {key}, at timestamp(6) NOT NULL)")
    any_shop.sql(f"INSERT INTO t {any_shop.series(rows, moment(any_shop))}")
    any_shop.export(mode="incremental", cursor_column="at")
    for number in range(3):
        assert counts(any_shop.apply()) == {"done": 1}
        found = dataset(any_shop, "t").column("id").to_pylist()
        assert set(found) == set(range(1, rows + 1 + number))
        assert len(found) == len(set(found)) or key == "NOT NULL", "delivered twice although a key breaks the ties"
        any_shop.sql(f"INSERT INTO t SELECT {rows + 1 + number}, MAX(at) FROM t")
    assert len(json.dumps(any_shop.cursor())) < 1000
    assert sum(path.stat().st_size for path in (any_shop.project.path / "out").rglob("*.json")) < 100_000
    exported = any_shop.project.run("state", "show", "--json").stdout
    assert len(exported) < 100_000


def moment(shop: Shop) -> str:
    return "n, timestamp '2024-01-01'" if shop.kind == "postgres" else "n, '2024-01-01'"


@pytest.mark.parametrize(("declared", "word"), [("json", "order"), ("boolean", ""), ("varbinary(9)", "order")])
def test_i10_a_cursor_without_order_is_refused_before_anything_is_read(any_shop: Shop, declared: str, word: str) -> None:
    declared = declared.replace("varbinary(9)", "bytea") if any_shop.kind == "postgres" else declared
    if any_shop.kind == "mysql":  # its boolean is a number, and MariaDB's json a text
        declared, word = {"boolean": ("enum('a', 'b')", "sorts by"), "json": ("geometry", "order")}.get(
            declared, (declared, word)
        )
    any_shop.sql(f"CREATE TABLE t(id int PRIMARY KEY, c {declared})")
    any_shop.export(mode="incremental", cursor_column="c")
    refused = any_shop.project.run("plan")
    assert refused.exit_code != 0
    assert word in refused.stderr + refused.stdout
    assert declared.partition("(")[0] in (refused.stderr + refused.stdout).lower()
