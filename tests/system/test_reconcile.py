"""`rivet reconcile` and `rivet repair` on real servers: found, explained, put right, and gentle to the source."""

from __future__ import annotations

import pytest

CONFIG = """
source: {{type: {kind}, url_env: SHOP_URL}}
destination: {{type: local, path: ./out}}
exports:
  - {{name: whole, table: orders, tuning: {{profile: safe}}}}
  - {{name: chunks, table: orders, mode: chunked, chunk_column: id, chunk_count: 4}}
  - {{name: since, table: orders, mode: incremental, cursor_column: updated_at}}
  - {{name: asked, query: "SELECT id, total FROM orders WHERE total % 7 <> 3 -- '%s"}}
"""
TABLE = "CREATE TABLE orders (id bigint PRIMARY KEY, total decimal(12,2), updated_at timestamp(6) NULL)"
ROWS = 200
NAMES = ("whole", "chunks", "since", "asked")


@pytest.fixture(params=["postgres", "mysql"])
def database(request, rivet):
    """Four exports of one table, run once."""
    found = request.getfixturevalue(request.param)
    found.execute(TABLE)
    values = ", ".join(f"({i}, {i}.50, '2024-01-01 00:{i // 60:02d}:{i % 60:02d}.25')" for i in range(1, ROWS + 1))
    found.execute(f"INSERT INTO orders VALUES {values}")
    rivet.environ["SHOP_URL"] = found.url
    rivet.config(CONFIG.format(kind=request.param))
    rivet.run("run", "-q").assert_done()
    return found


def results(rivet, exit_code=0):
    said = rivet.run("reconcile", "--json").assert_no_traceback()
    assert said.exit_code == exit_code, str(said)
    return {item["export"]: item["result"] for item in said.json()["exports"]}


def test_an_updated_row_is_found_and_its_unit_alone_repaired(rivet, database):
    assert results(rivet) == dict.fromkeys(NAMES, "match")
    database.execute("UPDATE orders SET total = 0.01 WHERE id = 77")
    assert results(rivet, 5) == dict.fromkeys(NAMES, "mismatch")
    before = rivet.run("files", "chunks", "--json").json()["files"]
    reports = {item["export"]: item for item in rivet.run("repair", "--execute", "--json").assert_done().json()["exports"]}
    assert {name: len(report["units"]) for name, report in reports.items()} == dict.fromkeys(NAMES, 1)
    assert {report["after"] for report in reports.values()} == {"match"}
    after = rivet.run("files", "chunks", "--json").json()["files"]
    assert sum(file in before for file in after) == 3
    assert sum(file["rows"] for file in after) == ROWS
    rivet.run("validate", "--depth", "full").assert_done()


def test_rows_that_came_or_moved_later_are_explained(rivet, database):
    database.execute("INSERT INTO orders VALUES (1000, 7.00, '2025-01-01 00:00:00')")
    database.execute("UPDATE orders SET total = 9.00, updated_at = '2025-01-02 00:00:00' WHERE id = 5")
    found = results(rivet, 5)
    assert found["since"] == "changed", "the next run brings both rows"
    assert found["chunks"] == "mismatch", "a row of an early unit changed"
    rivet.run("run", "-q", "-e", "since").assert_done()
    rivet.run("repair", "--execute", "-q", "-e", "whole", "-e", "chunks").assert_done()
    database.execute("INSERT INTO orders VALUES (1001, 7.00, '2025-01-03 00:00:00')")
    assert results(rivet, 5) | {"asked": ""} == {"whole": "changed", "chunks": "changed", "since": "changed", "asked": ""}


def test_a_row_that_an_incremental_run_missed_is_found(rivet, database):
    database.execute("INSERT INTO orders VALUES (500, 7.00, '2024-01-01 00:01:00.5')")
    rivet.run("run", "-q", "-e", "since").assert_done()
    rivet.run("reconcile", "-e", "since").assert_failed(5, "201 rows in the source, 200 in the files")
    rivet.run("repair", "-e", "since", "--execute", "-q").assert_done()
    rivet.run("reconcile", "-e", "since").assert_done()


def test_the_source_is_read_only_and_one_statement_a_unit(rivet, postgres):
    postgres.execute(TABLE)
    postgres.execute("INSERT INTO orders SELECT i, i, now() FROM generate_series(1, 200) AS i")
    rivet.environ["SHOP_URL"] = postgres.url
    rivet.config(CONFIG.format(kind="postgres"))
    rivet.run("run", "-q").assert_done()
    log = postgres.log.mark()
    rivet.run("reconcile", "-q", "-e", "chunks", "-e", "whole").assert_done()
    hashed = [entry for entry in log.entries() if "sha256" in (entry.sql or "")]
    assert [entry.application for entry in hashed] == ["rivet/whole", *["rivet/chunks"] * 4]
    settings = [sql for sql in log.statements() if "'jit'" in sql]
    assert len(settings) == 5
    assert all("'transaction_read_only', 'on'" in sql for sql in settings)
    assert any("'statement_timeout', '120000'" in sql for sql in log.statements()), "the profile's own limit"


def test_a_group_of_one_connection_is_enough(rivet, postgres):
    postgres.execute(TABLE)
    postgres.execute("INSERT INTO orders SELECT i, i, now() FROM generate_series(1, 200) AS i")
    rivet.environ["SHOP_URL"] = postgres.url
    group = "source_groups: {small: {max_connections: 1}}\n"
    rivet.config(CONFIG.format(kind="postgres").replace("{type: postgres,", "{type: postgres, source_group: small,") + group)
    rivet.run("run", "-q").assert_done()
    postgres.execute("UPDATE orders SET total = 0 WHERE id = 7")
    rivet.run("repair", "--execute", "-q").assert_done()
    assert set(results(rivet).values()) == {"match"}
