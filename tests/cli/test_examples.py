"""The packages of examples/: each keeps the rules, passes the kit and its own tests, and works once installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rivet_core.testing.project import Project

EXAMPLES = Path(__file__).parents[2] / "examples"
CONFIG = """
source:
  type: csvdir
  path: incoming
  tables: {orders: {key: id, columns: {id: bigint not null, total: "decimal(10,2)", at: timestamp not null}}}
destination: DESTINATION
exports:
  - {name: orders, table: orders, mode: incremental, cursor_column: at}
  - {name: notes, table: notes}
"""


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_it_keeps_the_rules(cli: Any, example: str) -> None:
    said = cli("plugins", "check", EXAMPLES / example)
    assert said.code == 0, said.out + said.err
    assert "no errors, no warnings" in said.out


@pytest.fixture
def installed(rivet: Project) -> Project:
    """A project in whose commands both packages are found as if they had been installed."""
    site = rivet.path / "site"
    for name in ("csvdir", "memory"):
        info = site / f"rivet_{name}-0.1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: rivet-{name}\nVersion: 0.1.0\n")
        (info / "entry_points.txt").write_text(f"[rivet.v1]\n{name} = rivet_{name}\n")
    paths = [site, EXAMPLES / "rivet_csvdir", EXAMPLES / "rivet_memory", os.environ.get("PYTHONPATH", "")]
    rivet.environ["PYTHONPATH"] = os.pathsep.join(str(path) for path in paths if str(path))
    rivet.write("incoming/orders.csv", "id,total,at\n1,10.50,2024-01-01 00:00:00\n2,,2024-01-01 00:00:00\n")
    rivet.write("incoming/notes.csv", "text\none\n")
    return rivet


def test_files_arrive_and_only_new_rows_are_read_again(installed: Project) -> None:
    installed.config(CONFIG.replace("DESTINATION", "{type: local, path: out}"))
    installed.run("check").assert_done()
    installed.run("run").assert_done()
    with (installed.path / "incoming" / "orders.csv").open("a") as file:
        file.write("3,7.00,2024-01-01 00:00:00\n4,8.25,2024-01-02 12:00:00.000001\n")
    summary = installed.run("run", "-e", "orders", "--json").assert_done().json()
    assert [export["rows"] for export in summary["exports"]] == [2]
    files = installed.run("files", "orders", "--json").assert_done().json()["files"]
    found = [row for file in files for row in pq.read_table(file["path"]).to_pylist()]
    assert sorted(row["id"] for row in found) == [1, 2, 3, 4]
    assert [str(row["total"]) for row in found if row["id"] in (1, 2)] == ["10.50", "None"]


def test_memory_takes_what_a_campaign_writes(installed: Project) -> None:
    installed.config(CONFIG.replace("DESTINATION", "{type: memory, name: test}"))
    summary = installed.run("run", "--json").assert_done().json()
    assert [export["rows"] for export in summary["exports"]] == [2, 1]


def test_memory_that_is_full_fails_the_campaign_in_words(installed: Project) -> None:
    installed.config(CONFIG.replace("DESTINATION", "{type: memory, name: test, max_bytes: 0}"))
    installed.run("run").assert_failed(1, "no space left", "rivet-memory://test")
