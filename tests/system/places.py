"""A project over a SQLite shop whose destination is any place, and ways to look there that are not Rivet's."""

from __future__ import annotations

import io
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins
from rivet_core.running import ApplyOptions, CampaignOutcome, RunEvent, apply_plan, layout_of
from rivet_core.running.publish import Dataset
from rivet_core.stores import open_store
from rivet_core.testing.project import Project

BLOBS = {"name": "blobs", "table": "blobs", "compression": "none"}
BLOBS_SQL = (
    "CREATE TABLE blobs (id INTEGER PRIMARY KEY, body BLOB);"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
    "INSERT INTO blobs SELECT i, randomblob(1 << 20) FROM n;"
)
"""Forty megabytes that do not compress: more than two pieces of an upload."""


@dataclass(frozen=True)
class Place:
    """A destination, and a way to it that is not Rivet's: `read(path)` and `keys()`."""

    options: dict[str, Any]
    read: Callable[[str], bytes]
    keys: Callable[[], list[str]]
    uploads: Callable[[], list[str]]


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


def parts(keys: list[str]) -> list[str]:
    return [key for key in keys if "part-" in key]


def ids(place: Place, paths: list[str]) -> list[int]:
    """Read the ids with another reader; a file or a row that is listed twice shows."""
    assert len(set(paths)) == len(paths)
    return sorted(value for path in paths for value in pq.read_table(io.BytesIO(place.read(path)))["id"].to_pylist())
