"""`partition_by` over columns whose values are not texts by themselves."""

from __future__ import annotations

import uuid

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from rivet_core.errors import ConfigError
from rivet_core.facts import ExportSpec
from rivet_core.running.columns import Partitioner

ONE, OTHER = uuid.UUID(int=5), uuid.UUID(int=6)
BATCH = pa.record_batch(
    {
        "u": pa.array([ONE.bytes, None, OTHER.bytes, ONE.bytes], pa.uuid()),
        "b": pa.array([b"\x00\xff", b"/", None, b"/"]),
        "j": pa.array(["1", '"x"', None, "1"], pa.json_(pa.utf8())),
        "l": pa.array([[1], [], None, [2]]),
    }
)


def directories(column: str) -> list[tuple[str, int]]:
    spec = ExportSpec(name="e", source="s", table="t", partition_by=(column,))
    return [(directory, rows.num_rows) for directory, rows in Partitioner(spec, BATCH.schema).split(BATCH)]


def test_uuids_and_bytes_have_directories_of_their_own():
    nothing = "__HIVE_DEFAULT_PARTITION__"
    assert directories("u") == [(f"u={ONE}", 2), (f"u={nothing}", 1), (f"u={OTHER}", 1)]
    assert directories("b") == [("b=%5Cx00ff", 1), ("b=%5Cx2f", 2), (f"b={nothing}", 1)]
    assert directories("j") == [("j=1", 2), ("j=%22x%22", 1), (f"j={nothing}", 1)]


def test_the_name_of_the_null_directory_as_a_value_lies_in_one_of_its_own():
    batch = pa.record_batch({"t": ["__HIVE_DEFAULT_PARTITION__", None, "%5F"]})
    spec = ExportSpec(name="e", source="s", table="t", partition_by=("t",))
    found = [directory for directory, _ in Partitioner(spec, batch.schema).split(batch)]
    assert found == ["t=%5F_HIVE_DEFAULT_PARTITION__", "t=__HIVE_DEFAULT_PARTITION__", "t=%255F"]


def test_readers_of_hive_directories_find_the_values_again(tmp_path):
    values = ["a=b", "=", "x=1/y=2", "a/b", "50%", "%3D", ".", "..", "é", "\U0001f6b2", "k\n", "C:", "*?[z]", "NULL", " ", None]
    batch = pa.record_batch({"n": list(range(len(values))), "t": values})
    spec = ExportSpec(name="e", source="s", table="t", partition_by=("t",))
    for directory, rows in Partitioner(spec, batch.schema).split(batch):
        (tmp_path / directory).mkdir()
        pq.write_table(pa.table(rows.select(["n"])), tmp_path / directory / "rows.parquet")
    read = "SELECT n, t FROM read_parquet(?, hive_partitioning=true, hive_types_autocast=false) ORDER BY n"
    files = [str(file) for file in tmp_path.glob("*/*.parquet")]
    assert [value for _, value in duckdb.execute(read, [files]).fetchall()] == values
    said = ds.partitioning(pa.schema({"t": pa.string()}), flavor="hive")
    assert ds.dataset(tmp_path, partitioning=said).to_table().sort_by("n")["t"].to_pylist() == values


def test_lists_are_refused_by_name():
    with pytest.raises(ConfigError, match="'l', whose values are lists"):
        directories("l")
