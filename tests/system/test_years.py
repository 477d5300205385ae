"""Years that Python has no date for are values like any other, from the server to the files and back."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.system.either import Shop

FAR = {"postgres": ["0044-03-15 BC", "2024-02-29", "12024-01-01"], "mysql": ["0000-03-15", "2024-02-29", "9999-12-31"]}
DAYS = {"postgres": [-735_160, 19_782, 3_672_148], "mysql": [-719_454, 19_782, 2_932_896]}


@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_dates_before_year_1_and_past_9999_are_read_and_reconciled(any_shop: Shop, fmt: str) -> None:
    moment = "timestamp" if any_shop.kind == "postgres" else "datetime(6)"
    any_shop.sql(f"CREATE TABLE t(id int PRIMARY KEY, day date, moment {moment})")
    days, numbers = FAR[any_shop.kind], DAYS[any_shop.kind]
    any_shop.sql(*(f"INSERT INTO t VALUES ({place}, '{day}', '{day}')" for place, day in enumerate(days)))
    any_shop.export(format=fmt, mode="incremental", cursor_column="day")
    any_shop.project.run("run").assert_done()
    any_shop.project.run("run").assert_done()
    files = [file["path"] for file in any_shop.project.run("files", "t", "--json").json()["files"]]
    if fmt == "parquet":
        found = pa.concat_tables(pq.read_table(file, partitioning=None) for file in files)
        assert found["day"].cast(pa.int32()).to_pylist() == numbers
    any_shop.project.run("reconcile", "-e", "t").assert_done()
