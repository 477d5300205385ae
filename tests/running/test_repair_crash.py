"""kill -9 at every step of a repair: readers see the old dataset or the new one, whole, and the repair can be made again."""

from __future__ import annotations

import signal

import pyarrow.parquet as pq
import pytest

from tests.cli.shop import Shop

CHUNKS = {"name": "chunks", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 5}
BEFORE_COMMIT = ("part_open", "part_written", "part_published", "manifest_published", "before_current")


def totals(rivet):
    files = rivet.run("files", "chunks", "--json").assert_done().json()["files"]
    tables = [pq.read_table(file["path"], partitioning=None) for file in files]
    return sorted((row["id"], row["total"]) for table in tables for row in table.to_pylist())


@pytest.mark.parametrize(
    ("step", "number"), [*((step, 1) for step in BEFORE_COMMIT), ("part_published", 2), ("after_current", 1)]
)
def test_readers_see_the_old_dataset_or_the_new_one(rivet, step, number):
    shop = Shop(rivet.path)
    shop.config(CHUNKS)
    rivet.run("run", "-q").assert_done()
    old = totals(rivet)
    shop.sql("UPDATE orders SET total = -1 WHERE id IN (7, 27)")
    new = sorted((key, -1 if key in (7, 27) else total) for key, total in old)
    killed = rivet.run("repair", "--execute", environ={"RIVET_FAULT": f"{step}:{number}"})
    assert killed.exit_code == -signal.SIGKILL, str(killed)
    assert totals(rivet) == (new if step == "after_current" else old)
    rivet.run("validate", "--depth", "full").assert_done()
    rivet.run("repair", "--execute", "-q").assert_done()
    assert totals(rivet) == new
    rivet.run("gc", "--execute", "-q").assert_done()
    listed = {file["path"] for file in rivet.run("files", "chunks", "--json").json()["files"]}
    assert {str(path) for path in shop.parts("chunks")} == listed, "nothing of the killed repair is left"
    assert totals(rivet) == new
