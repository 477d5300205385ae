"""What the bounds of units rest on changes between a plan and its run: texts sort otherwise, or a key may be NULL."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

CONFIG = """
source: {{type: {kind}, url_env: SHOP_URL}}
destination: {{type: local, path: ./out}}
exports:
  - {{name: t, table: t, mode: chunked, {more}}}
"""
ROWS = 2000
WORDS = {
    "postgres": (
        'CREATE TABLE t (k text COLLATE "C" PRIMARY KEY);'
        "INSERT INTO t SELECT chr(65 + n % 2 * 32 + n % 26) || n FROM generate_series(1, 2000) n; ANALYZE t",
        'ALTER TABLE t ALTER k TYPE text COLLATE "POSIX"',
    ),
    "mysql": (
        "CREATE TABLE t (k varchar(30) COLLATE utf8mb4_bin PRIMARY KEY);"
        "INSERT INTO t SELECT CONCAT(CHAR(IF(seq % 2, 97, 65) + seq % 26), seq) FROM seq_1_to_2000; ANALYZE TABLE t",
        "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    ),
}


def keys(rivet):
    files = rivet.run("files", "t", "--json").assert_done().json()["files"]
    return [key for file in files for key in pq.ParquetFile(file["path"]).read()["k"].to_pylist()]


def resumed(rivet):
    (export,) = rivet.run("run", "--resume", "--json").assert_done().json()["exports"]
    return export["resumed_units"]


def words(rivet, request, kind):
    database = request.getfixturevalue(kind)
    rivet.environ["SHOP_URL"] = database.url
    rivet.config(CONFIG.format(kind=kind, more="chunk_count: 6"))
    for statement in WORDS[kind][0].split(";"):
        database.execute(statement)
    rivet.run("plan", "-o", "plan.json").assert_done()
    return database


@pytest.mark.parametrize("kind", WORDS)
def test_texts_that_sort_otherwise_need_a_new_plan(rivet, request, kind):
    database = words(rivet, request, kind)
    database.execute(WORDS[kind][1])
    rivet.run("apply", "plan.json").assert_failed(4, "t: k, by which it is cut", "its collation was", "rivet plan")
    rivet.run("run", "-q").assert_done()
    found = keys(rivet)
    assert len(found) == len(set(found)) == ROWS


@pytest.mark.parametrize("kind", WORDS)
def test_a_resume_never_mixes_two_orders(rivet, request, kind):
    database = words(rivet, request, kind)
    rivet.run("apply", "plan.json", environ={"RIVET_FAULT": "unit_done:3"})
    database.execute(WORDS[kind][1])
    assert resumed(rivet) == 0
    found = keys(rivet)
    assert len(found) == len(set(found)) == ROWS


@pytest.mark.parametrize("kind", WORDS)
def test_a_resume_in_the_same_order_goes_on(rivet, request, kind):
    words(rivet, request, kind)
    rivet.run("apply", "plan.json", environ={"RIVET_FAULT": "unit_done:3"})
    assert resumed(rivet) == 3
    found = keys(rivet)
    assert len(found) == len(set(found)) == ROWS


def test_rows_without_a_key_that_could_not_be_need_a_new_plan(rivet, postgres):
    rivet.environ["SHOP_URL"] = postgres.url
    rivet.config(CONFIG.format(kind="postgres", more="chunk_column: k, chunk_count: 3, snapshot: consistent"))
    postgres.execute("CREATE TABLE t (id int PRIMARY KEY, k int NOT NULL, v text DEFAULT 'x'); CREATE INDEX ON t (k)")
    postgres.execute("INSERT INTO t SELECT n, n % 50 FROM generate_series(1, 2000) n")
    postgres.execute("ANALYZE t")
    rivet.run("plan", "-o", "plan.json").assert_done()
    postgres.execute("ALTER TABLE t ALTER v SET NOT NULL")
    postgres.execute("ALTER TABLE t ALTER k DROP NOT NULL; INSERT INTO t VALUES (5000, NULL)")
    rivet.run("apply", "plan.json").assert_failed(4, "t: k, by which it is cut", "it was NOT NULL and is no more")
    rivet.run("run", "-q").assert_done()
    assert keys(rivet).count(None) == 1
