"""Files against manifests."""

from __future__ import annotations

import json

import pytest

from rivet_core.running.layout import Layout
from rivet_core.running.publish import Dataset
from rivet_core.running.validate import validate
from rivet_core.stores import open_store


@pytest.fixture
def dataset(shop):
    shop.config({"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 3})
    assert shop.apply().exit_code == 0
    target = shop.registry.open_destination("local", {"path": "out"}, base=shop.root)
    return Dataset(open_store(target), Layout(export="orders"))


@pytest.fixture
def part(shop, dataset):
    return next((shop.root / "out").rglob("part-00001-000.parquet"))


def problems(dataset, depth):
    return [(finding.unit, finding.problem.split()[0], finding.problem.split()[1]) for finding in validate(dataset, depth)]


@pytest.mark.parametrize("depth", ["light", "sample", "full"])
def test_nothing_wrong(dataset, depth):
    assert validate(dataset, depth) == []


@pytest.mark.parametrize("depth", ["light", "full"])
def test_missing_and_short_files(dataset, part, depth):
    data = part.read_bytes()
    part.write_bytes(data[:-10])
    assert problems(dataset, depth) == [(1, "has", f"{len(data) - 10:,}")]
    part.unlink()
    assert problems(dataset, depth) == [(1, "is", "missing")]


def test_a_flipped_bit_needs_the_full_depth(dataset, part):
    data = bytearray(part.read_bytes())
    data[100] ^= 1
    part.write_bytes(data)
    assert problems(dataset, "light") == []
    assert problems(dataset, "full") == [(1, "has", "the")]


def test_o01_a_file_without_a_footer(dataset, part):
    part.write_bytes(bytes(part.stat().st_size))
    assert problems(dataset, "sample") == [(1, "cannot", "be")]


def test_rows_of_the_footer(shop, dataset):
    manifest = next((shop.root / "out").rglob("manifest.json"))
    data = json.loads(manifest.read_text())
    data["parts"][2]["rows"] += 1
    manifest.write_text(json.dumps(data))
    assert problems(dataset, "sample") == [(2, "has", str(data["parts"][2]["rows"] - 1))]
