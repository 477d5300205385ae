"""A project on disk: a SQLite source, a config, real plans, real applies, and the dataset read back by another reader."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from rivet_core.artifact import Plan, read_plan, write_plan
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import Registry, load_plugins
from rivet_core.running import ApplyOptions, CampaignOutcome, LiveFile, RunEvent, apply_plan, layout_of, list_files
from rivet_core.state import StateStore, read_state

RUNNER = """
import json, sys, types
# pyarrow imports pandas where it is installed, which takes longer than the export; a version it finds too old is left alone.
sys.modules["pandas"] = types.ModuleType("pandas")
sys.modules["pandas"].__version__ = "0.1"
from pathlib import Path
from rivet_core.artifact import read_plan
from rivet_core.errors import RivetError
from rivet_core.plugins import load_plugins
from rivet_core.running import ApplyOptions, apply_plan
options = ApplyOptions(**json.loads(sys.argv[2]))
def show(event):
    print(json.dumps(event.as_dict()), flush=True)
try:
    outcome = apply_plan(read_plan(Path(sys.argv[1])), load_plugins(), options, show)
except RivetError as error:
    print(json.dumps(error.as_dict()))
    sys.exit(error.exit_code)
print(json.dumps(outcome.as_dict()))
sys.exit(outcome.exit_code)
"""


@pytest.fixture(scope="session")
def registry() -> Registry:
    return load_plugins()


class Project:
    """Everything below one directory; the source is `shop.db`, the output `out/`."""

    runner = RUNNER

    def __init__(self, root: Path, registry: Registry) -> None:
        self.root = root
        self.registry = registry
        self.database = root / "shop.db"
        self.events: list[RunEvent] = []
        self._plans = 0

    def sql(self, script: str) -> None:
        with closing(sqlite3.connect(self.database)) as connection:
            connection.executescript(script)
            connection.commit()

    def fill(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        with closing(sqlite3.connect(self.database)) as connection:
            connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
            connection.commit()

    def source_rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.database)) as connection:
            return sorted(connection.execute(query).fetchall(), key=repr)

    def config(self, *exports: dict[str, Any], **more: Any) -> None:
        data = {
            "source": {"type": "sqlite", "path": "shop.db"},
            "destination": {"type": "local", "path": "./out"},
            "exports": list(exports),
            **more,
        }
        (self.root / "rivet.yaml").write_text(yaml.safe_dump(data, sort_keys=False))

    def plan(self, **request: Any) -> Plan:
        config = load_config(self.root / "rivet.yaml")
        return build_plan(config, self.registry, PlanRequest(**request))

    def plan_file(self, plan: Plan | None = None) -> Path:
        self._plans += 1
        path = self.root / f"plan-{self._plans}.json"
        write_plan(plan or self.plan(), path)
        return path

    def apply(self, plan: Plan | None = None, **options: Any) -> CampaignOutcome:
        return apply_plan(plan or self.plan(), self.registry, ApplyOptions(**options), self.events.append)

    def start(self, plan: Path, *, fault: str = "", **options: Any) -> subprocess.Popen[str]:
        """Apply in a process of its own."""
        environ = {**os.environ, "RIVET_FAULT": fault}
        command = [sys.executable, "-c", RUNNER, str(plan), json.dumps(options)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ)

    def apply_elsewhere(self, plan: Path, *, fault: str = "", **options: Any) -> tuple[int, str]:
        process = self.start(plan, fault=fault, **options)
        output, _ = process.communicate(timeout=120)
        return process.returncode, output

    def files(self, export: str) -> list[LiveFile]:
        config = load_config(self.root / "rivet.yaml")
        spec = next(spec for spec in config.exports if spec.name == export)
        options, layout = layout_of(spec)
        target = self.registry.open_destination(spec.destination.type, options, base=self.root)
        return list_files(target, layout)

    def table(self, export: str) -> pa.Table:
        files = self.files(export)
        return pa.concat_tables([pq.read_table(file.path, partitioning=None) for file in files]) if files else pa.table({})

    def rows(self, export: str, *columns: str) -> list[tuple[Any, ...]]:
        table = self.table(export)
        names = columns or table.column_names
        return (
            sorted(zip(*(table.column(name).to_pylist() for name in names), strict=True), key=repr) if table.num_columns else []
        )

    def state(self) -> StateStore:
        return read_state("sqlite:///.rivet/state.db", base=self.root)

    def manifest(self, export: str) -> dict[str, Any]:
        current = json.loads((self.root / "out" / export / "_rivet" / "current.json").read_text())
        return json.loads((self.root / "out" / current["manifests"][-1]["key"]).read_text())


@pytest.fixture
def project(tmp_path: Path, registry: Registry) -> Iterator[Project]:
    return Project(tmp_path, registry)


@pytest.fixture
def shop(project: Project) -> Project:
    """Orders with an update time (a few have none), and customers."""
    project.sql(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER, updated_at TIMESTAMP);"
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);"
    )
    project.fill(
        "orders", [(i, i * 10, None if i % 50 == 0 else f"2024-01-01 00:{i // 60:02d}:{i % 60:02d}") for i in range(1, 301)]
    )
    project.fill("customers", [(i, f"name {i}") for i in range(1, 101)])
    return project


__all__ = ["Project", "read_plan"]
