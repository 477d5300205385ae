"""Campaigns on real servers, planned and applied in this process or by the command line, and what to look at afterwards."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from rivet_core.artifact import Plan, write_plan
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins
from rivet_core.running import ApplyOptions, CampaignOutcome, RunEvent, apply_plan, layout_of, list_files
from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project


class Campaign:
    """A project over one PostgreSQL, planned and applied in this process or by the command line."""

    def __init__(self, project: Project, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project = project
        self.events: list[RunEvent] = []
        project.environ["SHOP_URL"] = url
        monkeypatch.setenv("SHOP_URL", url)
        self.registry = load_plugins()

    def config(self, *exports: dict[str, Any], **more: Any) -> None:
        data = {
            "source": {"type": "postgres", "url_env": "SHOP_URL", "source_group": "g"},
            "source_groups": {"g": {"max_connections": 4, "max_heavy": 4}},
            "destination": {"type": "local", "path": "out"},
            "exports": list(exports),
            **more,
        }
        (self.project.path / "rivet.yaml").write_text(yaml.safe_dump(data, sort_keys=False))

    def plan(self) -> Plan:
        return build_plan(load_config(self.project.path / "rivet.yaml"), self.registry, PlanRequest())

    def plan_file(self) -> Path:
        path = self.project.path / "plan.json"
        write_plan(self.plan(), path)
        return path

    def apply(
        self, plan: Plan | None = None, then: Callable[[RunEvent], None] = lambda event: None, **options: Any
    ) -> CampaignOutcome:
        def sink(event: RunEvent) -> None:
            self.events.append(event)
            then(event)

        return apply_plan(plan or self.plan(), self.registry, ApplyOptions(**options), sink)

    def told(self, kind: str) -> list[RunEvent]:
        return [event for event in self.events if event.kind == kind]


def table(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "table": f"public.{name}", **more}


def fill(postgres: PostgresDatabase, count: int, rows: int = 20) -> list[dict[str, Any]]:
    for number in range(count):
        postgres.execute(f"CREATE TABLE t{number} AS SELECT g AS id FROM generate_series(1, {rows}) g")
    return [table(f"t{number}") for number in range(count)]


def counts(outcome: CampaignOutcome) -> Counter[str]:
    return Counter(export.status for export in outcome.exports)


def wait_for(process: subprocess.Popen[str], kind: str, times: int = 1) -> None:
    assert process.stdout is not None
    while line := process.stdout.readline():
        times -= json.loads(line).get("event") == kind
        if times == 0:
            return
    raise AssertionError(f"{kind} never came: {process.communicate()}")


def parts(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (root / "out" / "orders").rglob("part-*")}


def dataset(campaign: Campaign, export: str) -> pa.Table:
    """Return the rows that are an export's dataset now, as its readers find them."""
    specs = load_config(campaign.project.path / "rivet.yaml").exports
    options, layout = layout_of(next(spec for spec in specs if spec.name == export))
    target = campaign.registry.open_destination("local", options, base=campaign.project.path)
    files = [pq.read_table(file.path, partitioning=None) for file in list_files(target, layout)]
    return pa.concat_tables(files) if files else pa.table({})


def wait_until(found: Callable[[], object], patience: float = 20.0) -> None:
    until = time.monotonic() + patience
    while not found():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)
