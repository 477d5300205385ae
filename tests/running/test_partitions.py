"""`partition_by` over columns whose values are not texts by themselves."""

from __future__ import annotations

import uuid

import pyarrow as pa
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


def test_lists_are_refused_by_name():
    with pytest.raises(ConfigError, match="'l', whose values are lists"):
        directories("l")
