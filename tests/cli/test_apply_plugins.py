"""`apply PLAN` loads the plugins that the plan names, and with `--policy` the one that offers it; no others."""

from __future__ import annotations

import importlib
import sqlite3
from pathlib import Path

import pytest

from rivet_core.artifact import write_plan
from rivet_core.cli import boundary
from rivet_core.config import load_config
from rivet_core.planning.build import build_plan
from rivet_core.planning.request import PlanRequest
from rivet_core.plugins import load_plugins

POLICY = """
from rivet_core.api import SchedulingPolicy, hookimpl

@hookimpl
def rivet_scheduling_policies():
    return [SchedulingPolicy(name="acme-first", summary="", order=lambda jobs, capacities: [job.name for job in jobs])]
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.close()
    (tmp_path / "rivet.yaml").write_text(
        "source: {type: sqlite, path: shop.db}\ndestination: {type: local, path: out}\n"
        "exports:\n  - {name: orders, table: orders}\n"
    )
    plan = build_plan(load_config(tmp_path / "rivet.yaml"), load_plugins(environ={}), PlanRequest())
    write_plan(plan, tmp_path / "plan.json")
    for name, code in (("acme", POLICY), ("broken", "raise RuntimeError")):
        (tmp_path / f"fake_apply_{name}.py").write_text(code)
        info = tmp_path / f"rivet_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: rivet-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[rivet.v1]\n{name} = fake_apply_{name}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_broken_plugin_that_the_plan_does_not_name_is_left_out(shop: Path) -> None:
    assert boundary.run(["apply", "plan.json", "-q"]) == 0


def test_a_policy_brings_its_own_plugin_and_no_other(shop: Path) -> None:
    assert boundary.run(["apply", "plan.json", "-q", "--policy", "acme-first"]) == 0


def test_an_unknown_policy_is_refused(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(["apply", "plan.json", "-q", "--policy", "nobodys"]) == 2
    assert "there is no scheduling policy nobodys" in capsys.readouterr().err
