"""Files: what two independent readers find in them, for values that other tools get wrong."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import random
import threading
import uuid

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet_core.builtin.local import LocalOptions, open_local
from rivet_core.errors import DestinationError, IntegrityError
from rivet_core.facts import ExportSpec
from rivet_core.running.parquet import compression, encodings
from rivet_core.running.write import Encoder, UnitWriter
from rivet_core.stores import open_store

D = decimal.Decimal
EDGES = pa.record_batch(
    {
        "i": pa.array([1, None, -(2**63)], pa.int64()),
        "u": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "s": pa.array(["", None, 'a "b", \r\nc'], pa.string()),
        "f": pa.array([float("nan"), float("-inf"), 0.1]),
        "d": pa.array([D("0.0000000001"), None, D("12345.5")], pa.decimal128(20, 10)),
        "big": pa.array([D("9" * 50), D("-1"), None], pa.decimal256(50, 0)),
        "b": pa.array([b"", b"\x00\xff", None]),
        "t": pa.array(
            [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None, dt.datetime(1, 1, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC")
        ),
        "day": pa.array([dt.date(2024, 1, 1), None, dt.date(9999, 12, 31)]),
        "tm": pa.array([dt.time(1, 2, 3, 4), None, None]),
        "dur": pa.array([-3_661_000_001, 838 * 3600 * 10**6, None], pa.duration("us")),
        "l": pa.array([[1, None], [], None], pa.list_(pa.int64())),
        "uu": pa.array([uuid.UUID(int=5).bytes, None, None], pa.uuid()),
        "bo": pa.array([True, False, None]),
        "na.me": pa.array(["x", " y", None]),
    }
)


@pytest.fixture
def store(tmp_path):
    return open_store(open_local(LocalOptions.model_validate({"path": str(tmp_path)})))


def spec(**more):
    return ExportSpec(name="e", source="s", table="t", **more)


def write(store, export, *batches):
    writer = UnitWriter(store, export, batches[0].schema, 0, lambda partition, part: f"part-{part:03}.{export.format}")
    for batch in batches:
        writer.write(batch)
    return writer.finish()


def test_parquet_keeps_every_value_and_type(store, tmp_path):
    parts = write(store, spec(), EDGES, EDGES)
    table = pq.read_table(tmp_path / "part-000.parquet")
    assert table.schema.equals(EDGES.schema)
    assert repr(table.slice(3).to_pylist()) == repr(EDGES.to_pylist())
    assert (parts[0].rows, parts[0].bytes) == (6, (tmp_path / "part-000.parquet").stat().st_size)
    found = duckdb.sql(f"SELECT i, u, s, d, b, day, l, bo, \"na.me\" FROM '{tmp_path}/part-000.parquet' LIMIT 3").fetchall()
    assert found == [
        tuple(row[name] for name in ("i", "u", "s", "d", "b", "day", "l", "bo", "na.me")) for row in EDGES.to_pylist()
    ]


def test_csv_tells_null_from_empty_and_reads_back(store, tmp_path):
    write(store, spec(format="csv"), EDGES)
    text = (tmp_path / "part-000.csv").read_bytes().decode()
    header, first, second, *_ = text.split("\r\n", 3)
    assert header == "i,u,s,f,d,big,b,t,day,tm,dur,l,uu,bo,na.me"
    assert first.startswith(
        '1,18446744073709551615,"",NaN,0.0000000001,' + "9" * 50 + ",\\x,2024-01-01T00:00:00.000000Z,2024-01-01,"
    )
    assert first.endswith(',01:02:03.000004,-01:01:01.000001,"[1, null]",00000000-0000-0000-0000-000000000005,true,x')
    assert second == ',0,,-Infinity,,-1,\\x00ff,,,,838:00:00.000000,[],,false," y"'
    with (tmp_path / "part-000.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3
    assert rows[2]["s"] == 'a "b", \r\nc'
    read = f"read_csv('{tmp_path}/part-000.csv', all_varchar=true, allow_quoted_nulls=false)"
    assert duckdb.sql(f"SELECT s, i FROM {read}").fetchall() == [("", "1"), (None, None), ('a "b", \r\nc', str(-(2**63)))]


def test_statistics_of_a_part(store):
    for fmt in ("parquet", "csv"):
        columns = write(store, spec(format=fmt), EDGES)[0].columns
        assert columns["i"] == {"null_count": 1, "min": str(-(2**63)), "max": "1"}
        assert columns["u"] == {"null_count": 1, "min": "0", "max": str(2**64 - 1)}
        assert columns["d"] == {"null_count": 1, "min": "0.0000000001", "max": "12345.5000000000"}
        assert columns["t"]["min"] == "0001-01-01T00:00:00+00:00"
        assert columns["s"]["null_count"] == columns["l"]["null_count"] == 1


@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_no_rows_still_say_the_columns(store, tmp_path, fmt):
    export = spec(format=fmt)
    parts = Encoder(store, export, EDGES.schema, 0, lambda partition, part: f"part-{part:03}.{fmt}").empty()
    assert [part.rows for part in parts] == [0]
    read = pq.read_table(tmp_path / "part-000.parquet").column_names if fmt == "parquet" else None
    names = read or (tmp_path / "part-000.csv").read_text().strip().split(",")
    assert names == EDGES.schema.names


@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_many_batches_through_the_thread_lose_no_row(store, tmp_path, fmt):
    seeded = random.Random(7)
    batches = [
        pa.record_batch({"id": pa.array(range(start, start + 1000)), "v": pa.array([seeded.random() for _ in range(1000)])})
        for start in range(0, 50_000, 1000)
    ]
    parts = write(store, spec(format=fmt, max_file_size=100_000), *batches)
    assert len(parts) > 2
    assert sum(part.rows for part in parts) == 50_000
    found = duckdb.sql(f"SELECT count(*), count(DISTINCT id), sum(id) FROM '{tmp_path}/part-*.{fmt}'").fetchall()
    assert found == [(50_000, 50_000, 50_000 * 49_999 // 2)]


def test_row_groups(store, tmp_path):
    batch = pa.record_batch({"id": pa.array(range(10_000))})
    write(store, spec(parquet={"row_group_strategy": "fixed_rows", "row_group_rows": 3000}), batch)
    footer = pq.ParquetFile(tmp_path / "part-000.parquet").metadata
    assert [footer.row_group(i).num_rows for i in range(footer.num_row_groups)] == [3000, 3000, 3000, 1000]


def test_row_groups_of_a_number_of_rows_whatever_the_batches(store, tmp_path):
    """A group was what was held when a batch came, and up to twice what was asked for."""
    batches = [pa.record_batch({"i": pa.array(range(rows))}) for rows in (700, 700, 1, 1200)]
    write(store, spec(parquet={"row_group_strategy": "fixed_rows", "row_group_rows": 500}), *batches)
    footer = pq.ParquetFile(tmp_path / "part-000.parquet").metadata
    assert [footer.row_group(i).num_rows for i in range(footer.num_row_groups)] == [500] * 5 + [101]


def test_field_metadata_is_kept(store, tmp_path):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata={"source_type": "bigint", "comment": "ключ"})])
    write(store, spec(), pa.record_batch([pa.array([1])], schema=schema))
    field = pq.read_schema(tmp_path / "part-000.parquet").field("id")
    assert not field.nullable
    assert field.metadata[b"comment"].decode() == "ключ"


def test_encodings():
    dictionary, delta = encodings(EDGES.schema)
    assert dictionary == ["s", "na.me"]
    assert set(delta) == {"i", "u", "t", "day", "tm"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ("zstd", None)),
        ({"compression_profile": "fast"}, ("snappy", None)),
        ({"compression_profile": "compact"}, ("zstd", 9)),
        ({"compression": "gzip", "compression_level": 5, "compression_profile": "fast"}, ("gzip", 5)),
        ({"compression": "lz4", "compression_level": 12}, ("lz4", 12)),
        ({"compression": "none"}, ("none", None)),
    ],
)
def test_compression(more, expected):
    assert compression(spec(**more)) == expected


def test_an_error_of_the_encoder_reaches_the_reader_and_leaves_nothing(store, tmp_path):
    batch = pa.record_batch({"id": pa.array(range(200_000))})
    writer = UnitWriter(store, spec(max_file_size=1), batch.schema, 0, lambda partition, part: f"dir/../part-{part}")

    def write_on():
        for _ in range(100):
            writer.write(batch)

    with pytest.raises(IntegrityError, match="leave the destination"):  # raised in the encoder's thread
        write_on()
    writer.abort()
    assert not [thread for thread in threading.enumerate() if thread.name == "rivet-encoder"]
    assert list(tmp_path.iterdir()) == []


def test_a_destination_error_is_seen_through_arrow(store, monkeypatch):
    import errno
    import os

    real = os.write

    def full(descriptor, data):
        if len(data) > 100_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    batch = pa.record_batch({"v": pa.array([random.random() for _ in range(500_000)])})
    with pytest.raises(DestinationError, match="no space left") as caught:
        write(store, spec(), batch)
    assert caught.value.error_class == "full"


def test_open_partitions_hold_a_bounded_number_of_bytes_together(store, monkeypatch):
    monkeypatch.setattr("rivet_core.running.write.MAX_HELD_BYTES", 100_000)
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=number) for number in range(40)]
    batch = pa.record_batch({"day": pa.array(days * 50), "text": pa.array(["x" * 20] * 2000)})
    export = spec(partition_by=("day",), parquet={"target_row_group_mb": 0.05})
    encoder = Encoder(store, export, batch.schema, 0, lambda partition, part: f"{partition}/part-{part:03}.parquet")
    most = 0
    for _ in range(10):
        encoder.add(batch)
        most = max(most, sum(part.held_bytes for part in encoder._open.values()))
    assert 50_000 < most <= 100_000
    parts = encoder.finish()
    assert len(parts) == 40
    assert sum(part.rows for part in parts) == 20_000
