"""What `apply` and `run` say at the end: one cause once, no name twice."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rivet_core.cli import boundary

CONFIG = """
source: {type: sqlite, path: shop.db}
destination: {type: local, path: out}
exports:
  - {name: a, table: t}
  - {name: b, table: t}
"""


def make(shop: Path, config: str) -> None:
    with sqlite3.connect(shop / "shop.db") as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    database.close()
    (shop / "rivet.yaml").write_text(config)


def run(shop: Path, monkeypatch: pytest.MonkeyPatch, config: str) -> int:
    make(shop, config)
    monkeypatch.chdir(shop)
    return boundary.run(["run", "-q"])


def test_a_cause_that_stops_several_exports_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("in the way")
    assert run(tmp_path, monkeypatch, CONFIG) == 1
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert errors[0].startswith("error: 2 exports (a, b): cannot write to ")


def test_an_error_names_its_export_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, monkeypatch, CONFIG.replace("table: t}", "table: t, quality: {row_count_min: 3}}", 1)) == 5
    assert "error: a: 0 rows, at least 3 are required" in capsys.readouterr().err


def test_what_a_rule_prints_stays_out_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "noisy_rule.py").write_text(
        "from rivet_core.api import ScoringRule, hookimpl\n\n"
        "@hookimpl\ndef rivet_scoring_rules():\n"
        "    return [ScoringRule(name='n', summary='s', codes=('X-acme-1',), score='noisy_rule:score', dimension='risk')]\n\n"
        "def score(facts, options):\n    print('NOISE')\n    return []\n"
    )
    info = tmp_path / "rivet_noisy-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rivet-noisy\nVersion: 1.0.0\n")
    (info / "entry_points.txt").write_text("[rivet.v1]\nnoisy = noisy_rule\n")
    make(tmp_path, CONFIG)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "rivet_core.cli", "plan", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=False
    )
    assert json.loads(done.stdout)["exports"]
    assert "NOISE" in done.stderr


def test_what_waits_for_an_export_that_could_not_be_planned_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path, CONFIG.replace("a, table: t", "a, table: gone").replace("b, table: t", "b, table: t, depends_on: [a]"))
    monkeypatch.chdir(tmp_path)
    assert boundary.run(["plan", "-o", "plan.json", "-q"]) == 1
    for command in (["run"], ["apply"], ["apply", "plan.json"]):
        capsys.readouterr()
        assert boundary.run([*command, "--json"]) == 1
        said = json.loads(capsys.readouterr().out)
        assert [(found["status"], found["reason"]) for found in said["exports"]] == [
            ("failed", "could not be planned"),
            ("skipped", "skipped because of a"),
        ]
        assert [(found["name"], found["error"]["code"]) for found in said["unplannable"]] == [("a", "source_missing")]
    assert boundary.run(["run", "-e", "b", "-q"]) == 0
    capsys.readouterr()
    assert boundary.run(["apply", "plan.json", "-e", "b", "--json"]) == 0, "what was not asked for did not fail"
    said = json.loads(capsys.readouterr().out)
    assert (said["counts"]["done"], said["unplannable"], said["exit_code"]) == (1, [], 0)


def test_a_plan_lists_its_waves_as_apply_runs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path, CONFIG.replace("b, table: t", "b, table: t, wave: 2"))
    monkeypatch.chdir(tmp_path)
    assert boundary.run(["plan", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    waves = plan["campaign"]["waves"]
    assert [(wave["wave"], wave["exports"]) for wave in waves] == [(2, ["b"]), (3, ["a"])]
    assert plan["exports"][0]["recommended_wave"] == 1
    whole = plan["campaign"]["predicted"]["makespan_seconds"]
    assert sum(wave["predicted_seconds"] for wave in waves) == pytest.approx(whole, abs=0.002)
    assert boundary.run(["apply", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["order"] == ["b", "a"]


@pytest.mark.parametrize("command", ["run", "apply"])
@pytest.mark.parametrize("place", ["nowhere/summary.json", "."])
def test_a_summary_that_cannot_be_written_is_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, place: str
) -> None:
    make(tmp_path, CONFIG)
    monkeypatch.chdir(tmp_path)
    assert boundary.run([command, "--summary-output", place, "-q"]) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot write {place}: ")
    assert not (tmp_path / "out").exists()


def test_pa6_another_table_or_query_in_the_config_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.sql").write_text("SELECT id FROM t")
    config = CONFIG + "  - {name: c, query_file: c.sql}\n"
    make(tmp_path, config)
    monkeypatch.chdir(tmp_path)
    assert boundary.run(["plan", "-o", "plan.json", "-q"]) == 0
    (tmp_path / "c.sql").write_text("SELECT id FROM t WHERE id > 1")
    (tmp_path / "rivet.yaml").write_text(config.replace("b, table: t", "b, query: SELECT 1 AS id"))
    capsys.readouterr()
    assert boundary.run(["apply", "plan.json", "--force", "--json"]) == 4
    said = json.loads(capsys.readouterr().out)["exports"]
    assert [(found["status"], found["error"] and found["error"]["code"]) for found in said] == [
        ("done", None),
        ("failed", "query_changed"),
        ("failed", "query_changed"),
    ]
    (tmp_path / "rivet.yaml").unlink()
    assert boundary.run(["apply", "plan.json", "-q"]) == 0
