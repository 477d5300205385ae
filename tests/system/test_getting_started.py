"""docs/getting-started.md as a reader follows it: every command of the page, in order, against a real PostgreSQL."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from rivet_core.testing.postgres_database import PostgresDatabase

PAGE = (Path(__file__).parents[2] / "docs" / "getting-started.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    """Return what the page says to type, comments taken off."""
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    lines = [line[2:].split("#")[0].strip() for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    prose = re.findall(r"`(rivet (?:init|run)[^`]*|rivet plan [^`]*&&[^`]*)`", PAGE)
    assert len(lines) >= 7
    assert len(prose) >= 3
    return [*lines, *prose]


@pytest.fixture
def shop(postgres: PostgresDatabase) -> PostgresDatabase:
    postgres.execute("CREATE TABLE orders (id bigint PRIMARY KEY, total numeric(10,2), updated_at timestamptz NOT NULL)")
    postgres.execute(
        "INSERT INTO orders SELECT g, g, timestamptz '2026-01-01' + g * interval '1 s' FROM generate_series(1, 500) g"
    )
    postgres.execute("CREATE INDEX ON orders (updated_at)")
    postgres.execute("CREATE TABLE customers (id bigint PRIMARY KEY, name text)")
    postgres.execute("INSERT INTO customers SELECT g, 'c' || g FROM generate_series(1, 50) g")
    postgres.execute("ANALYZE")
    return postgres


@pytest.mark.postgres
@pytest.mark.slow
def test_every_command_of_the_page_works(shop: PostgresDatabase, tmp_path: Path) -> None:
    rivet = tmp_path / "bin" / "rivet"
    rivet.parent.mkdir()
    rivet.write_text(f'#!/bin/sh\nexec {sys.executable} -m rivet_core.cli "$@"\n')
    rivet.chmod(0o755)
    folder = tmp_path / "work"
    folder.mkdir()
    (config,) = re.findall(r"^```yaml\n(source.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    (folder / "rivet.yaml").write_text(config)
    script = ["set -eu", "set -o pipefail"]
    for command in commands():
        if command.startswith("pip install"):
            assert [distribution(name).name for name in command.split()[2:]] == ["rivet-core", "rivet-postgres"]
        elif command.startswith("export SHOP_URL="):
            script.append(f"export SHOP_URL='{shop.url}'")
        elif command.startswith("rivet init"):
            script += ["mkdir init", "cd init", command, "rivet check", "rivet run", "cd .."]
        else:
            script.append(command)
    path = f"{rivet.parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env={"PATH": path, "HOME": str(tmp_path), "COLUMNS": "200", "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert list(folder.glob("out/orders/run=*/part-*.parquet"))
    assert shop.url.split(":")[2].split("@")[0] not in done.stdout + done.stderr
