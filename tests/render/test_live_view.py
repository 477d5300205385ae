"""The live view: time to go as a bound, connections against the cap, waves, and what is overdue."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from rivet_core.artifact import Plan
from rivet_core.artifact.canonical import seal
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins
from rivet_core.render import live_view
from rivet_core.render.live_view import LiveView
from rivet_core.running.events import RunEvent


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.executescript("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY, x BLOB);")
        connection.executemany("INSERT INTO b VALUES (?, zeroblob(2000))", [(i,) for i in range(5000)])
        connection.commit()
    chunked = {"mode": "chunked", "chunk_count": 4, "parallel": 3}
    data = {
        "source": {"type": "sqlite", "path": "shop.db", "source_group": "g"},
        "source_groups": {"g": {"max_connections": 4}},
        "destination": {"type": "local", "path": "out"},
        "exports": [{"name": "a", "table": "a", "wave": 1}, {"name": "b", "table": "b", "wave": 2, **chunked}],
    }
    (tmp_path / "rivet.yaml").write_text(yaml.safe_dump(data))
    return build_plan(load_config(tmp_path / "rivet.yaml"), load_plugins(), PlanRequest())


def event(kind: str, export: str = "", **data: Any) -> RunEvent:
    return RunEvent(kind=kind, at=datetime(2026, 11, 29, tzinfo=UTC), export=export, data=data)


def shown(view: LiveView) -> str:
    out = io.StringIO()
    Console(file=out, width=120).print(view.draw())
    return out.getvalue()


def test_it_shows_waves_connections_and_the_least_time_to_go(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_view, "RECKON_EVERY_SECONDS", 0.0)
    view = LiveView(plan, Console(file=io.StringIO()))
    view(event("campaign_started", workers=4, policy="waves"))
    view(event("export_started", "a"))
    first = shown(view)
    assert "wave 1 of 2" in first
    assert "g 1/4 connections" in first
    assert "to go, 2 of 2 left unmeasured" in first
    assert "at least" in first
    view(event("export_finished", "a", rows=0, bytes=10))
    view(event("export_started", "b"))
    view(event("progress", "b", rows=2500, bytes=5_000_000))
    second = shown(view)
    assert "wave 2 of 2" in second
    assert "g 3/4 connections" in second
    assert "2,500" in second
    assert "1/2 exports" in second
    view(event("export_failed", "b", message="gone"))
    last = shown(view)
    assert "1 failed" in last
    assert "to go" not in last


def test_a_split_export_counts_by_its_shares(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_view, "RECKON_EVERY_SECONDS", 0.0)
    a, b = plan.exports
    b = b.model_copy(update={"split_in": 3, "spec": {**b.spec, "parallel": 1}})
    view = LiveView(seal(plan.model_copy(update={"exports": (a, b)})), Console(file=io.StringIO()))
    view(event("campaign_started", workers=4, policy="waves"))
    view(event("export_finished", "a", rows=0, bytes=10))
    view(event("export_started", "b"))
    assert "connections" not in shown(view)
    for number in (1, 2):
        view(event("share_started", "b", share=f"b/{number}", shares=3, units=2))
    both = shown(view)
    assert "g 2/4 connections" in both
    assert "wave 2 of 2" in both
    assert "to go, 1 of 1 left unmeasured" in both
    view(event("share_finished", "b", share="b/1", seconds=1.0))
    assert "g 1/4 connections" in shown(view)
    view(event("export_finished", "b", rows=5000, bytes=10))
    assert "to go" not in shown(view)
