"""One suite for every store: written whole and once, whatever is killed when, whoever else writes.

`RIVET_TEST_STORES` names the stores; `make soak` has it run over rclone, which knows no conditional writes.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from rivet_core.running import RunEvent
from rivet_core.running.faults import STEPS
from rivet_core.running.gc import find_garbage, remove
from rivet_core.running.validate import validate
from rivet_core.testing.rclone import RcloneServer
from rivet_core.testing.s3 import S3Bucket
from tests.system.places import BLOBS, BLOBS_SQL, Place, Shop, ids, parts, s3_options

CHUNKED = {"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 3}
ROWS = 300
STORES = os.environ.get("RIVET_TEST_STORES", "local,s3").split(",")
LOCKED = "s3 without conditional writes"
KILLS = [*((step, 1) for step in STEPS), *((step, 2) for step in ("part_published", "unit_done"))]


def marked(stores: list[str]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.s3) if name.startswith("s3") else name for name in stores]


@pytest.fixture(params=marked(STORES))
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The local disk, or a bucket."""
    if request.param == "local":
        root = tmp_path / "out"
        files = lambda: sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())  # noqa: E731
        return Place({"type": "local", "path": str(root)}, lambda path: Path(path).read_bytes(), files, list)
    store = request.getfixturevalue("rclone" if request.param == "rclone" else "s3")
    monkeypatch.setenv("RIVET_TEST_SECRET", store.secret_key)
    options = s3_options(store, store.endpoint)
    if request.param != "s3":
        options["conditional_writes"] = False
    return Place(options, lambda path: store.get(path.removeprefix(f"s3://{store.name}/")), store.keys, store.uploads)


@pytest.fixture(scope="module")
def rclone_server() -> Iterator[RcloneServer]:
    server = RcloneServer.create()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def rclone(rclone_server: RcloneServer) -> S3Bucket:
    return rclone_server.bucket()


@pytest.fixture
def shop(tmp_path: Path, place: Place) -> Shop:
    made = Shop(tmp_path / "project", place.options)
    rows = ",".join(f"({i}, {i * 10})" for i in range(1, ROWS + 1))
    made.sql(f"CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER); INSERT INTO orders VALUES {rows};")
    made.config(CHUNKED)
    return made


def test_round_trip(shop, place):
    shop.project.run("run", "-q").assert_done()
    found = shop.project.run("files", "orders", "--json").assert_done().json()["files"]
    assert ids(place, [file["path"] for file in found]) == list(range(1, ROWS + 1))
    assert validate(shop.dataset("orders"), "full") == []
    # O09: three parts become one, and nobody who asks sees the other two.
    shop.sql("DELETE FROM orders WHERE id > 30")
    shop.config({**CHUNKED, "chunk_count": 1, "keep_runs": 1})
    assert shop.apply().exit_code == 0
    (only,) = shop.files("orders")
    assert ids(place, [only]) == list(range(1, 31))
    garbage = find_garbage(shop.dataset("orders"), live=set(), known=lambda run: True, keep_runs=1)
    assert len(garbage.files) == 5
    remove(shop.dataset("orders"), garbage)
    (left,) = parts(place.keys())
    assert only.endswith(left)


@pytest.mark.parametrize(("step", "number"), KILLS)
def test_o01_killed_at_every_step_and_resumed(shop, place, step, number):
    killed = shop.project.run("run", environ={"RIVET_FAULT": f"{step}:{number}"})
    assert killed.exit_code == -signal.SIGKILL, str(killed)
    committed = STEPS.index(step) >= STEPS.index("after_current")
    assert bool(shop.files("orders")) is committed, "readers see the whole dataset or none of it"
    assert shop.apply(resume=True).exit_code == 0
    paths = shop.files("orders")
    assert ids(place, paths) == list(range(1, ROWS + 1))
    assert validate(shop.dataset("orders"), "full") == []
    stray = [key for key in parts(place.keys()) if not any(path.endswith(key) for path in paths)]
    assert len(stray) == (3 if committed else 0), "the resume lists and keeps nothing but its own"
    assert place.uploads() == []


def test_the_second_of_two_runs_is_busy(shop):
    """Writers that share a state meet at the lease of the export."""
    codes: list[int] = []

    def second(event: RunEvent) -> None:
        if event.kind == "unit_done" and not codes:
            codes.append(shop.apply().exit_code)

    assert shop.apply(second).exit_code == 0
    assert codes == [6]


@pytest.mark.parametrize("place", marked([*STORES, *([LOCKED] if "s3" in STORES else [])]), indirect=True)
def test_two_writers_of_two_states(shop, place, tmp_path):
    """Writers that know nothing of each other meet at `current.json`: the slower one commits nothing."""
    other = Shop(tmp_path / "other", place.options)
    other.sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER); INSERT INTO orders VALUES (7, 70), (8, 80);")
    other.config(CHUNKED)
    codes: list[int] = []

    def meanwhile(event: RunEvent) -> None:
        if event.kind == "unit_done" and not codes:
            codes.append(other.apply().exit_code)

    outcome = shop.apply(meanwhile)
    assert (codes, outcome.exit_code) == ([0], 6)
    assert "replaced by another run" in str(outcome.exports[0].error)
    assert ids(place, shop.files("orders")) == [7, 8]
    assert shop.apply().exit_code == 0
    assert ids(place, shop.files("orders")) == list(range(1, ROWS + 1))


@pytest.mark.parametrize("place", marked([*STORES, *([LOCKED] if "s3" in STORES else [])]), indirect=True)
def test_two_processes_that_write_the_same_at_once(shop, place, tmp_path):
    """Whoever is first: the dataset is one of the two, whole, and whoever ends with 0 had committed."""
    other = Shop(tmp_path / "other", place.options)
    other.sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER); INSERT INTO orders VALUES (7, 70), (8, 80);")
    other.config(CHUNKED)
    for _ in range(2):
        running = [writer.project.start("run", "-q") for writer in (shop, other)]
        said = [process.communicate(timeout=120) for process in running]
        codes = [process.returncode for process in running]
        assert set(codes) <= {0, 6}, said
        assert 0 in codes, said
        found = ids(place, shop.files("orders"))
        assert found in ([*([[7, 8]] if codes[1] == 0 else []), *([list(range(1, ROWS + 1))] if codes[0] == 0 else [])])


def test_twenty_exports_at_once(shop, place):
    names = [f"t{number:02}" for number in range(20)]
    shop.sql("".join(f"CREATE TABLE {name} AS SELECT * FROM orders;" for name in names))
    shop.config(
        *({"name": name, "table": name} for name in names),
        planning={"workers": 8},
        source_groups={"local": {"max_connections": 8, "max_heavy": 8}},
    )
    assert shop.apply(pool=8).exit_code == 0
    keys = place.keys()
    currents = [key for key in keys if key.endswith("_rivet/current.json")]
    assert len(currents) == 20
    listed = Counter(_listed(place, currents))
    assert len(listed) == 20
    assert set(listed.values()) == {1}
    assert ids(place, shop.files("t13")) == list(range(1, ROWS + 1))


def _listed(place: Place, currents: list[str]) -> list[str]:
    root = place.options.get("path")
    read = (lambda key: place.read(f"{root}/{key}")) if root else (lambda key: place.read(key))
    paths = []
    for key in currents:
        current = json.loads(read(key))
        base = key.removesuffix(f"{current['export']}/_rivet/current.json")
        for member in current["manifests"]:
            manifest = json.loads(read(base + member["key"]))
            folder = member["key"].rpartition("/")[0]
            paths += [f"{folder}/{part['path']}" for part in manifest["parts"]]
    return paths


@pytest.fixture
def blobs(shop: Shop) -> Shop:
    shop.sql(BLOBS_SQL)
    shop.config({**BLOBS, "tuning": {"throttle_ms": 150}})
    return shop


def test_o04_sigterm_leaves_no_upload(blobs, place):
    process = blobs.project.start("run", "-q")
    until = time.monotonic() + 60
    begun: Callable[[], bool] = (
        partial(lambda: bool(place.uploads())) if place.options["type"] == "s3" else partial(lambda: bool(place.keys()))
    )
    while not begun() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, out + err
    assert "Traceback" not in err
    assert place.uploads() == []
    assert parts(place.keys()) == []
    assert not list(Path(place.options.get("path", "/nowhere")).rglob("run=*")), "an empty directory stayed"
    assert blobs.files("blobs") == []
    blobs.config(BLOBS)
    assert blobs.apply(resume=True).exit_code == 0
    assert ids(place, blobs.files("blobs")) == list(range(1, 41))
