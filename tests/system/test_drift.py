"""Columns that change between two runs: what joins a dataset is read from it with every digit, and moved ones are announced."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

SOURCES = {
    "postgres": ("postgres", "ALTER TABLE t ALTER COLUMN {0} TYPE {1}"),
    "mysql": ("mysql", "ALTER TABLE t MODIFY {0} {1}"),
}
CONFIG = """
source: {{type: {kind}, url_env: SHOP_URL}}
destination: {{type: local, path: ./out}}
exports:
  - {{name: t, table: t, mode: incremental, cursor_column: id, {more}}}
"""


@pytest.fixture(params=SOURCES)
def change(request, rivet):
    """Return what runs SQL on either server, and alters a column."""
    database = request.getfixturevalue(request.param)
    rivet.environ["SHOP_URL"] = database.url
    rivet.config(CONFIG.format(kind=request.param, more=""))

    def run(statement, *column):
        database.execute(SOURCES[request.param][1].format(*column) if column else statement)

    return run


def files(rivet):
    return [file["path"] for file in rivet.run("files", "t", "--json").assert_done().json()["files"]]


@pytest.mark.parametrize(
    ("before", "after", "value"),
    [
        ("decimal(10,2)", "decimal(12,4)", "3.3333"),
        ("decimal(20,0)", "decimal(38,18)", "0.000000000000000001"),
        ("float4", "float8", "0.1"),
    ],
)
def test_digits_that_readers_may_round_are_announced_and_are_there(rivet, change, before, after, value):
    change(f"CREATE TABLE t (id int PRIMARY KEY, v {before}); INSERT INTO t VALUES (1, 1)")
    rivet.run("run", "-q").assert_done()
    change("", "v", after)
    change(f"INSERT INTO t VALUES (2, {value})")
    rivet.run("run").assert_failed(0, "column v was widened from", "first file's type for all round it")
    read = "SELECT v::text FROM read_parquet(?, union_by_name=true, hive_partitioning=false) WHERE id = 2"
    assert duckdb.execute(read, [files(rivet)]).fetchall() == [(value,)]
    schema = pa.unify_schemas([pq.read_schema(file) for file in files(rivet)], promote_options="permissive")
    (found,) = ds.dataset(files(rivet), schema=schema).to_table(filter=ds.field("id") == 2).to_pylist()
    assert f"{found['v']:f}".rstrip("0") == value


def test_more_digits_before_the_point_are_wider(rivet, change):
    change("CREATE TABLE t (id int PRIMARY KEY, v decimal(10,2)); INSERT INTO t VALUES (1, 1)")
    rivet.run("run", "-q").assert_done()
    change("", "v", "decimal(45,2)")
    change("INSERT INTO t VALUES (2, 1e40)")
    told = rivet.run("run").assert_failed(0, "column v was widened from decimal128(10, 2) to decimal256(45, 2)")
    assert "round" not in told.stderr


@pytest.mark.parametrize(("policy", "code"), [("warn", 0), ("continue", 0), ("fail", 5)])
def test_columns_of_csv_in_another_order_are_announced(rivet, mysql, policy, code):
    rivet.environ["SHOP_URL"] = mysql.url
    rivet.config(CONFIG.format(kind="mysql", more=f"format: csv, on_schema_drift: {policy}"))
    mysql.execute("CREATE TABLE t (id int PRIMARY KEY, a int, b int); INSERT INTO t VALUES (1, 10, 20)")
    rivet.run("run", "-q").assert_done()
    mysql.execute("ALTER TABLE t ADD COLUMN c int; INSERT INTO t VALUES (2, 11, 21, 31)")
    if policy != "fail":
        assert "order" not in rivet.run("run").assert_done().stderr
    else:
        mysql.execute("ALTER TABLE t DROP COLUMN c")
    mysql.execute("ALTER TABLE t MODIFY b int AFTER id; INSERT INTO t (id, a, b) VALUES (3, 12, 22)")
    rivet.run("run").assert_failed(code, "the columns stand in another order: id, b, a")
