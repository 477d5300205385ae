"""What `apply` and `run` say at the end: one cause once, no name twice."""

from __future__ import annotations

import sqlite3
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


def run(shop: Path, monkeypatch: pytest.MonkeyPatch, config: str) -> int:
    with sqlite3.connect(shop / "shop.db") as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    database.close()
    (shop / "rivet.yaml").write_text(config)
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
