"""One suite for every store: written whole and once, whatever is killed when, whoever else writes."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins
from rivet_core.running import ApplyOptions, CampaignOutcome, RunEvent, apply_plan, layout_of
from rivet_core.running.gc import find_garbage, remove
from rivet_core.running.publish import Dataset
from rivet_core.running.validate import validate
from rivet_core.stores import open_store
from rivet_core.testing.project import Project

CHUNKED = {"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 3}
BLOBS = {"name": "blobs", "table": "blobs", "compression": "none"}
ROWS = 300
LOCKED = "s3 without conditional writes"


@dataclass(frozen=True)
class Place:
    """A destination, and a way to it that is not Rivet's: `read(path)` and `keys()`."""

    options: dict[str, Any]
    read: Callable[[str], bytes]
    keys: Callable[[], list[str]]
    uploads: Callable[[], list[str]]


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The local disk, or a bucket."""
    if request.param == "local":
        root = tmp_path / "out"
        files = lambda: sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())  # noqa: E731
        return Place({"type": "local", "path": str(root)}, lambda path: Path(path).read_bytes(), files, list)
    store = request.getfixturevalue("s3")
    monkeypatch.setenv("RIVET_TEST_SECRET", store.secret_key)
    options = s3_options(store, store.endpoint)
    if request.param == LOCKED:
        options["conditional_writes"] = False
    return Place(options, lambda path: store.get(path.removeprefix(f"s3://{store.name}/")), store.keys, store.uploads)


def s3_options(store: Any, endpoint: str) -> dict[str, Any]:
    return {
        "type": "s3",
        "bucket": store.name,
        "prefix": "lake/raw",
        "endpoint": endpoint,
        "region": store.region,
        "access_key_id": store.access_key,
        "secret_key_env": "RIVET_TEST_SECRET",
    }


class Shop:
    """A project over a SQLite shop whose destination is any place."""

    def __init__(self, root: Path, options: dict[str, Any]) -> None:
        root.mkdir(exist_ok=True)
        self.project = Project(root)
        self.project.environ["RIVET_TEST_SECRET"] = os.environ.get("RIVET_TEST_SECRET", "")
        self.options = options

    def sql(self, script: str) -> None:
        with closing(sqlite3.connect(self.project.path / "shop.db")) as connection:
            connection.executescript(script)
            connection.commit()

    def config(self, *exports: dict[str, Any], **more: Any) -> None:
        data = {"source": {"type": "sqlite", "path": "shop.db"}, "destination": self.options, "exports": exports, **more}
        (self.project.path / "rivet.yaml").write_text(yaml.safe_dump({**data, "exports": list(exports)}, sort_keys=False))

    def apply(self, sink: Callable[[RunEvent], None] | None = None, **options: Any) -> CampaignOutcome:
        """Plan and apply in this process."""
        config, registry = load_config(self.project.path / "rivet.yaml"), load_plugins()
        return apply_plan(build_plan(config, registry, PlanRequest()), registry, ApplyOptions(**options), sink)

    def dataset(self, export: str) -> Dataset:
        config = load_config(self.project.path / "rivet.yaml")
        spec = next(spec for spec in config.exports if spec.name == export)
        options, layout = layout_of(spec)
        target = load_plugins().open_destination(spec.destination.type, options, base=self.project.path)
        return Dataset(open_store(target), layout)

    def files(self, export: str) -> list[str]:
        dataset = self.dataset(export)
        current, _ = dataset.read()
        return [dataset.store.url(part.key) for _, part in dataset.parts(current)]


@pytest.fixture
def shop(tmp_path: Path, place: Place) -> Shop:
    made = Shop(tmp_path / "project", place.options)
    rows = ",".join(f"({i}, {i * 10})" for i in range(1, ROWS + 1))
    made.sql(f"CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER); INSERT INTO orders VALUES {rows};")
    made.config(CHUNKED)
    return made


def parts(keys: list[str]) -> list[str]:
    return [key for key in keys if "part-" in key]


def ids(place: Place, paths: list[str]) -> list[int]:
    """Read the ids with another reader; a file or a row that is listed twice shows."""
    assert len(set(paths)) == len(paths)
    return sorted(value for path in paths for value in pq.read_table(io.BytesIO(place.read(path)))["id"].to_pylist())


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


@pytest.mark.parametrize("step", ["part_published:2", "before_current", "after_current"])
def test_o01_killed_and_resumed(shop, place, step):
    name, _, _ = step.partition(":")
    killed = shop.project.run("run", environ={"RIVET_FAULT": step})
    assert killed.exit_code == -signal.SIGKILL, str(killed)
    committed = name == "after_current"
    assert bool(shop.files("orders")) is committed, "readers see the whole dataset or none of it"
    assert shop.apply(resume=True).exit_code == 0
    paths = shop.files("orders")
    assert ids(place, paths) == list(range(1, ROWS + 1))
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


@pytest.mark.parametrize("place", ["local", "s3", LOCKED], indirect=True)
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
    """Forty megabytes that do not compress: more than two pieces of an upload."""
    shop.sql(
        "CREATE TABLE blobs (id INTEGER PRIMARY KEY, body BLOB);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
        "INSERT INTO blobs SELECT i, randomblob(1 << 20) FROM n;"
    )
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
    assert blobs.files("blobs") == []
    blobs.config(BLOBS)
    assert blobs.apply(resume=True).exit_code == 0
    assert ids(place, blobs.files("blobs")) == list(range(1, 41))


@pytest.fixture
def lake(tmp_path, s3, s3_proxy, monkeypatch):
    """The same shop, and a store that fails when it is told to."""
    monkeypatch.setenv("RIVET_TEST_SECRET", s3.secret_key)
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda seconds: None)
    made = Shop(tmp_path / "project", s3_options(s3, s3_proxy.url))
    made.sql(
        "CREATE TABLE blobs (id INTEGER PRIMARY KEY, body BLOB);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
        "INSERT INTO blobs SELECT i, randomblob(1 << 20) FROM n;"
    )
    made.config({**BLOBS, "tuning": {"max_retries": 0}})
    return made


def rows(shop: Shop) -> int:
    dataset = shop.dataset("blobs")
    current, _ = dataset.read()
    return sum(part.rows for _, part in dataset.parts(current))


def test_o04_a_piece_that_fails(lake, s3, s3_proxy):
    s3_proxy.fail("UploadPart", "internal_error", times=99, number=2)
    s3_proxy.fail("AbortMultipartUpload", "slow_down")
    outcome = lake.apply()
    assert outcome.exit_code == 1
    assert "s3://" in str(outcome.exports[0].error)
    assert s3.uploads() == []
    assert parts(s3.keys()) == []
    s3_proxy.faults.clear()
    assert lake.apply(resume=True).exit_code == 0
    assert rows(lake) == 40


@pytest.mark.parametrize("answer", ["slow_down", "lose"])
def test_o05_completing_an_upload_reads_nothing_again(lake, s3, s3_proxy, answer):
    """Throttled three times, or done and never answered: the rows are not read again, and the file is there once."""
    s3_proxy.fail("CompleteMultipartUpload", answer, times=3 if answer == "slow_down" else 1)
    outcome = lake.apply()
    assert (outcome.exit_code, outcome.exports[0].retries) == (0, 0), outcome.exports[0].error
    assert s3_proxy.requests.count("CreateMultipartUpload") == 1
    assert rows(lake) == 40
    assert s3.uploads() == []
    assert len(parts(s3.keys())) == 1
    assert validate(lake.dataset("blobs"), "full") == []


@pytest.mark.parametrize("answer", ["slow_down", "internal_error", "lose", "reset"])
@pytest.mark.parametrize(("operation", "number"), [("CreateMultipartUpload", None), ("UploadPart", 2), ("UploadPart", 3)])
def test_o05_a_piece_is_sent_again_without_reading_again(lake, s3, s3_proxy, operation, number, answer):
    """The first, a full and the last piece: throttled three times, or done or undone without an answer."""
    s3_proxy.fail(operation, answer, times=1 if answer in ("lose", "reset") else 3, number=number)
    told: list[RunEvent] = []
    outcome = lake.apply(told.append)
    assert (outcome.exit_code, outcome.exports[0].retries) == (0, 0), outcome.exports[0].error
    assert [fault.times for fault in s3_proxy.faults] == [0]
    assert not [event for event in told if event.kind == "retry"]
    again = 1 if answer in ("lose", "reset") else 3
    assert s3_proxy.requests.count("UploadPart") == 3 + (again if number else 0)
    assert rows(lake) == 40
    assert validate(lake.dataset("blobs"), "full") == []
    assert s3.uploads() == []


def test_o04_an_upload_begun_twice_by_a_lost_answer_is_aborted_with_the_other(lake, s3, s3_proxy):
    s3_proxy.fail("CreateMultipartUpload", "lose")
    s3_proxy.fail("UploadPart", "internal_error", times=99, number=2)
    outcome = lake.apply()
    assert outcome.exit_code == 1
    assert s3_proxy.requests.count("CreateMultipartUpload") == 2
    assert s3.uploads() == []
    assert parts(s3.keys()) == []


@pytest.mark.parametrize("answer", ["lose", "reset", "slow_down"])
@pytest.mark.parametrize("ending", ["current.json", "manifest.json"])
def test_the_answer_to_the_commit_gets_lost(lake, s3_proxy, ending, answer):
    """What was replaced although nobody said so is read back; a conflict with oneself is none."""
    lake.sql("DELETE FROM blobs WHERE id > 2")
    assert lake.apply().exit_code == 0
    s3_proxy.fail("PutObject", answer, ending=ending)
    outcome = lake.apply()
    assert outcome.exit_code == 0, outcome.exports[0].error
    assert [fault.times for fault in s3_proxy.faults] == [0]
    dataset = lake.dataset("blobs")
    current, _ = dataset.read()
    assert (current.generation, current.run_id, current.rows) == (2, outcome.exports[0].run_id, 2)


def test_gc_aborts_what_a_killed_process_left(lake, s3, monkeypatch):
    killed = lake.project.run("run", environ={"RIVET_FAULT": "part_written"})
    assert killed.exit_code == -signal.SIGKILL, str(killed)
    assert len(s3.uploads()) == 1
    dataset = lake.dataset("blobs")
    later = datetime.now(UTC) + timedelta(days=2)
    (live,) = {part.key.split("run=")[1].split("/")[0] for part in dataset.store.uploads("blobs")}
    spared = find_garbage(dataset, live={live}, known=lambda run: True, keep_runs=1, now=later)
    assert spared.uploads == ()
    assert find_garbage(dataset, live=set(), known=lambda run: True, keep_runs=1).uploads == (), "younger than a day"
    remove(dataset, find_garbage(dataset, live=set(), known=lambda run: True, keep_runs=1, now=later))
    assert s3.uploads() == []
