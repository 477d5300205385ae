"""What a fresh interpreter imports: the light commands stay light, whatever is installed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

HEAVY = (
    "pyarrow",
    "sqlalchemy",
    "alembic",
    "pydantic",
    "fsspec",
    "psycopg",
    "adbc_driver_postgresql",
    "pymysql",
    "s3fs",
    "connectorx",
)

PROBE = """
import io, json, sys
sys.stdout = io.StringIO()
from rivet_core.cli.boundary import run
code = run({argv!r})
sys.stdout = sys.__stdout__
print(json.dumps([code, sorted({{name.partition('.')[0] for name in sys.modules}})]))
"""


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["plugins", "list"], ["plugins", "list", "--json"], []])
def test_light_commands_import_nothing_heavy(argv: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROBE.format(argv=argv)], capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stdout)
    assert code == 0
    assert not set(HEAVY) & set(modules)


@pytest.mark.parametrize(
    "module", ["rivet_core", "rivet_core.api", "rivet_core.facts", "rivet_core.plugins", "rivet_core.builtin"]
)
def test_light_modules_import_nothing_heavy(module: str) -> None:
    code = f"import {module}, sys, json; print(json.dumps(sorted({{n.partition('.')[0] for n in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(json.loads(done.stdout))


def test_a_first_plan_does_without_sqlalchemy(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL)")
    (tmp_path / "rivet.yaml").write_text(
        "source: {type: sqlite, path: shop.db}\ndestination: {type: local, path: out}\n"
        "exports: [{name: orders, table: orders}]\n"
    )
    argv = ["plan", "-c", str(tmp_path / "rivet.yaml"), "-o", str(tmp_path / "plan.json")]
    done = subprocess.run([sys.executable, "-c", PROBE.format(argv=argv)], capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stdout)
    assert code == 0
    assert "sqlalchemy" not in modules
