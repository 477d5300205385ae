"""docs/tutorial.md as a script: from an empty folder to an installed rule that shows in the plan; the example is its result."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

import rivet_core
from rivet_core.cli.scaffold import scaffold

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "rivet_audit"


def script() -> str:
    """Return every block that the page says to run, in order."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) > 8
    return "set -eu\nset -o pipefail\n" + "\n".join(blocks)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A virtual environment with pip, in which everything of the running one is installed; pip may ask no index."""
    folder = tmp_path / "env"
    venv.create(folder, with_pip=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "running.pth").write_text(f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n")
    command = folder / "bin" / "rivet"
    command.write_text(f"#!{folder}/bin/python\nfrom rivet_core.cli import main\n\nmain()\n")
    command.chmod(0o755)
    return {
        "PATH": f"{folder}/bin:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(Path(rivet_core.__file__).parents[1]),
        "COLUMNS": "200",
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as the option's value: no isolation
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        **{name: os.environ[name] for name in ("LD_LIBRARY_PATH", "LANG") if name in os.environ},
    }


@pytest.mark.slow
def test_the_tutorial_runs_as_it_stands(environment: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    done = subprocess.run(
        ["bash", "-c", script()], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    assert "rivet_scoring_rules: audit (X-audit-001)" in done.stdout
    assert re.search(r"\+5 +X-audit-001", done.stdout)
    assert "it keeps the rules" in done.stdout
    made = [line for line in done.stdout.splitlines() if line.endswith(".parquet")]
    assert made
    assert all(Path(line).is_file() for line in made)


def test_the_example_is_what_the_tutorial_makes(tmp_path: Path) -> None:
    made = scaffold("audit", "rule", tmp_path / "rivet_audit")
    for file in made:
        there = EXAMPLE / file.relative_to(tmp_path / "rivet_audit")
        assert there.read_text(encoding="utf-8") == file.read_text(encoding="utf-8"), there


def test_the_page_shows_the_code_that_is_there() -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    code = "".join((EXAMPLE / "rivet_audit" / name).read_text(encoding="utf-8") for name in ("__init__.py", "rule.py"))
    shown = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert shown
    for block in shown:
        for line in block.splitlines():
            assert line in code, line
