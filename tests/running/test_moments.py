"""Dates that Python's own cannot be: written, bounded, placed and read back like any other."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet_core.builtin.local import LocalOptions, open_local
from rivet_core.facts import ExportSpec
from rivet_core.running.filerows import from_csv
from rivet_core.running.moments import bound_text, from_iso, iso_texts
from rivet_core.running.write import UnitWriter
from rivet_core.sql.canonical import canonical
from rivet_core.stores import open_store

DAY = 86_400_000_000
DAYS = {
    "-4712-01-01": -2_440_550,
    "-0043-03-15": -735_160,
    "0000-12-31": -719_163,
    "2024-02-29": 19_782,
    "9999-12-31": 2_932_896,
    "12024-01-01": 3_672_148,
    "32768-01-01": 11_248_738,
    "5874897-12-31": 2_145_042_905,
}
STAMPS = {f"{text}T12:00:00.000001": day * DAY + DAY // 2 + 1 for text, day in DAYS.items() if day < 10**8}
DATES = pa.array(list(DAYS.values()), pa.int32()).view(pa.date32())
TIMES = pa.array(list(STAMPS.values()), pa.int64()).view(pa.timestamp("us", "UTC"))


def test_texts_of_any_year_and_back():
    assert iso_texts(DATES).to_pylist() == list(DAYS)
    assert iso_texts(TIMES).to_pylist() == list(STAMPS)
    assert [bound_text(number, pa.date32()) for number in DAYS.values()] == list(DAYS)
    for column in (DATES, TIMES.view(pa.timestamp("us"))):
        assert from_iso(iso_texts(column), column.type).equals(column)


@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_files_keep_them(tmp_path, fmt):
    lists = pa.array([[value] for value in STAMPS.values()], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us", "UTC")))
    batch = pa.record_batch({"day": DATES[: len(TIMES)], "moment": TIMES, "all": lists})
    store = open_store(open_local(LocalOptions.model_validate({"path": str(tmp_path)})))
    spec = ExportSpec(name="e", source="s", table="t", format=fmt, partition_by=("day",), partition_granularity="year")
    writer = UnitWriter(store, spec, batch.schema, 0, lambda partition, part: f"{partition}/part-{part}.{fmt}")
    writer.write(batch)
    parts = writer.finish()
    years = [text[:-6] for text in DAYS][: len(TIMES)]
    assert [part.key.partition("/")[0] for part in parts] == [f"day={year}" for year in years]
    assert [part.columns["day"]["min"] for part in parts] == list(DAYS)[: len(TIMES)]
    for place, part in enumerate(parts):
        if fmt == "parquet":
            assert pq.read_table(tmp_path / part.key, partitioning=None).equals(pa.table(batch.slice(place, 1)))
            found = duckdb.sql(f"SELECT * FROM read_parquet('{tmp_path / part.key}', hive_partitioning=false)")
            numbers = found.select("epoch_us(moment), date_diff('day', DATE '1970-01-01', day)")
            assert numbers.fetchall() == [(TIMES[place].value, DATES[place].value)]
        else:
            line = (tmp_path / part.key).read_text().splitlines()[1]
            assert line.startswith(f"{list(DAYS)[place]},{list(STAMPS)[place]}Z,")


def test_digests_of_csv_are_those_of_parquet():
    for column, kind, zone in ((DATES, "date32[day]", ""), (TIMES, "timestamp[us, tz=UTC]", "Z")):
        fields = pa.array([text + zone for text in iso_texts(column).to_pylist()], pa.large_string())
        assert from_csv(fields, kind).equals(canonical(column))
