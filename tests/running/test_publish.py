"""`current.json`: which parts are the dataset after each kind of run."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rivet_core.api import Target
from rivet_core.builtin.local import LocalOptions, open_local
from rivet_core.errors import BusyError, ConfigError, IntegrityError
from rivet_core.facts import DestinationRef, ExportSpec, Mark
from rivet_core.running.layout import Layout, layout_of
from rivet_core.running.manifest import Manifest, ManifestPart
from rivet_core.running.manifest_json import current_bytes, manifest_bytes, read_current, read_manifest
from rivet_core.running.publish import Dataset, list_files
from rivet_core.stores import open_store

AT = datetime(2024, 5, 6, tzinfo=UTC)


@pytest.fixture
def target(tmp_path) -> Target:
    return open_local(LocalOptions.model_validate({"path": str(tmp_path)}))


@pytest.fixture
def dataset(target):
    return Dataset(open_store(target), Layout(export="orders"))


def commit(dataset, run, *parts, mode="full", append=False, days=(), nulls=False):
    """`parts` are `(kind, day, rows)`."""
    made = []
    for number, (kind, day, rows) in enumerate(parts):
        key = dataset.layout.part(run, AT, number, 0)
        written = dataset.store.put(key, b"x" * rows)
        made.append(
            ManifestPart(key=key, rows=rows, bytes=written.bytes, checksum=written.checksum, unit=number, kind=kind, day=day)
        )
    manifest = Manifest(
        export="orders",
        run_id=run,
        plan_id="p",
        fingerprint="f",
        mode=mode,
        format="parquet",
        started_at="",
        finished_at="",
        parts=tuple(made),
        schema=(),
        schema_fingerprint="",
        days=days,
        has_nulls=nulls,
    )
    current, tag = dataset.read()
    return dataset.commit(manifest, AT, current, tag, append=append)


def live(target):
    return [(file.path.split("run=")[1], file.rows) for file in list_files(target, Layout(export="orders"))]


def test_a_full_run_replaces_the_one_before(dataset, target):
    commit(dataset, "r1", ("whole", "", 3))
    commit(dataset, "r2", ("whole", "", 2))
    assert live(target) == [("r2/part-00000-000.parquet", 2)]
    assert dataset.store.size("orders/run=r1/_SUCCESS") == 0


def test_an_incremental_run_joins_the_chain(dataset, target):
    commit(dataset, "r1", ("cursor", "", 3), mode="incremental")
    current = commit(dataset, "r2", ("cursor", "", 2), mode="incremental", append=True)
    assert [rows for _, rows in live(target)] == [3, 2]
    assert (current.rows, current.generation) == (5, 2)


def test_null_parts_supersede_each_other(dataset, target):
    commit(dataset, "r1", ("cursor", "", 3), ("nulls", "", 4), mode="incremental", nulls=True)
    commit(dataset, "r2", ("cursor", "", 2), ("nulls", "", 5), mode="incremental", append=True, nulls=True)
    current = commit(dataset, "r3", ("cursor", "", 1), mode="incremental", append=True, nulls=True)
    assert [rows for _, rows in live(target)] == [3, 2, 1]
    assert [member.rows for member in current.members] == [3, 2, 1]
    assert current.rows == 6


def test_a_window_replaces_its_days_and_keeps_older_ones(dataset, target):
    commit(
        dataset, "r1", ("window", "1", 10), ("window", "2", 20), ("window", "3", 30), mode="time_window", days=("1", "2", "3")
    )
    commit(dataset, "r2", ("window", "3", 31), ("window", "4", 40), mode="time_window", days=("2", "3", "4"), append=True)
    assert [rows for _, rows in live(target)] == [10, 31, 40]
    current = commit(dataset, "r3", ("window", "4", 41), mode="time_window", days=("1", "2", "3", "4"), append=True)
    assert [rows for _, rows in live(target)] == [41]
    assert [member.run_id for member in current.members] == ["r3"]


def test_i7_a_run_that_comes_second_is_busy_and_changes_nothing(dataset, target):
    commit(dataset, "r1", ("whole", "", 3))
    current, tag = dataset.read()
    commit(dataset, "r2", ("whole", "", 2))
    dataset.read = lambda: (current, tag)
    with pytest.raises(BusyError):
        commit(dataset, "r3", ("whole", "", 1))
    assert live(target) == [("r2/part-00000-000.parquet", 2)]


def test_nothing_yet_is_an_empty_list(target):
    assert list_files(target, Layout(export="orders")) == []


def test_manifests_survive_their_json():
    mark = Mark(column="ö", type="timestamptz", value="2024-01-01 00:00:00.000001+00")
    part = ManifestPart(
        key="orders/run=r/part-00000-000.parquet",
        rows=1,
        bytes=2,
        checksum="c",
        unit=0,
        kind="range",
        lower=(mark,),
        marks=(mark,),
        columns={"a": {"null_count": 1, "min": None, "max": None}},
    )
    manifest = Manifest(
        export="orders",
        run_id="r",
        plan_id="p",
        fingerprint="f",
        mode="incremental",
        format="csv",
        started_at="a",
        finished_at="b",
        parts=(part,),
        schema=({"name": "a", "type": "int64", "nullable": True},),
        schema_fingerprint="s",
        cursor_before=(mark,),
        cursor_after=(mark,),
        delivery="at_least_once",
        dedupe_key=("id",),
        counts={"a: null": 3},
        drift=("x",),
    )
    assert read_manifest(manifest_bytes(manifest, "orders/run=r/manifest.json"), "orders/run=r/manifest.json") == manifest
    # Moved as a whole, the paths move along.
    moved = read_manifest(manifest_bytes(manifest, "orders/run=r/manifest.json"), "copy/run=r/manifest.json")
    assert moved.parts[0].key == "copy/run=r/part-00000-000.parquet"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"current_version": 99}', b'{"current_version": 1}'])
def test_a_damaged_file_is_a_clear_error(data):
    with pytest.raises(IntegrityError):
        read_current(data, "current.json")


def test_a_manifest_cannot_point_outside(dataset):
    current = commit(dataset, "r1", ("whole", "", 3))
    evil = current_bytes(current).replace(b"orders/run=r1/manifest.json", b"../../etc/passwd")
    with pytest.raises(IntegrityError, match="leave the destination"):
        read_current(evil, "current.json")


@pytest.mark.parametrize(
    ("path", "root", "part"),
    [
        ("./out", "./out", "my%2Forders/run=r/part-00001-002.parquet"),
        ("./out/{export}", "./out", "my%2Forders/run=r/part-00001-002.parquet"),
        ("/lake/{source}/{table}/{date}", "/lake", "shop/public.orders/2024-05-06/run=r/part-00001-002.parquet"),
        ("{date}/x", ".", "2024-05-06/x/my%2Forders/run=r/part-00001-002.parquet"),
        ("/{export}/{run_id}", "/", "my%2Forders/r/part-00001-002.parquet"),
        ("${env:ROOT}/{table}", "${env:ROOT}", "public.orders/run=r/part-00001-002.parquet"),
    ],
)
def test_tokens(path, root, part):
    destination = DestinationRef(type="local", options={"path": path})
    spec = ExportSpec(name="my/orders", source="shop", table="public.orders", destination=destination)
    options, layout = layout_of(spec)
    assert options["path"] == root
    assert layout.part("r", AT, 1, 2) == part
    assert layout.current == "my%2Forders/_rivet/current.json"


def test_an_unknown_token_is_refused():
    spec = ExportSpec(name="a", source="s", table="t", destination=DestinationRef(type="local", options={"path": "x/{tabel}"}))
    with pytest.raises(ConfigError, match="tabel"):
        layout_of(spec)


def test_names_never_share_a_directory():
    homes = {Layout(export=name).home for name in ("a/b", "a%2Fb", "a.b", "a b", "..", ".", "a\\b", "ab", "ä")}
    assert len(homes) == 9
    assert not homes & {".", ".."}
