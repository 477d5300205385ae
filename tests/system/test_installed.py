"""The product as people get it: wheels in an empty environment, found by their entry points."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

OUT = "destination: {type: local, path: out}\n"


def build(project: Path, into: Path) -> Path:
    """Build one wheel with the backend its pyproject names."""
    before = set(into.iterdir())
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)], cwd=project, check=True)
    (wheel,) = set(into.iterdir()) - before
    return wheel


class Environment:
    """An empty virtual environment that sees the dependencies of the running one, but none of its own distributions."""

    def __init__(self, path: Path) -> None:
        venv.create(path, with_pip=False)
        self.python = path / "bin" / "python"
        self.site = next(path.glob("lib/python*/site-packages"))
        dependencies = path / "dependencies"
        dependencies.mkdir()
        for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
            if "rivet" not in entry.name.lower():
                (dependencies / entry.name).symlink_to(entry)
        (self.site / "dependencies.pth").write_text(f"{dependencies}\n")

    def install(self, wheel: Path) -> None:
        """Unpack a wheel where pip would; entry points and metadata lie in it."""
        subprocess.run([str(self.python), "-m", "zipfile", "-e", str(wheel), str(self.site)], check=True)

    def rivet(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        command = [str(self.python), "-c", "from rivet_core.cli import main; main()", *arguments]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    into = tmp_path_factory.mktemp("wheels")
    return {"core": build(ROOT, into), "postgres": build(ROOT / "plugins" / "rivet_postgres", into)}


@pytest.mark.slow
def test_wheels_in_an_empty_environment_show_each_active_hook(wheels: dict[str, Path], tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    environment.install(wheels["core"])
    (tmp_path / "rivet.yaml").write_text("source: {type: postgres, url_env: X}\n" + OUT + "exports: [{name: a, table: t}]\n")

    listed = environment.rivet("plugins", "list", "--json", cwd=tmp_path)
    plugins = json.loads(listed.stdout)["plugins"]
    assert [plugin["name"] for plugin in plugins] == ["core"]
    refused = environment.rivet("plan", cwd=tmp_path)
    assert refused.returncode == 3
    assert "pip install rivet-postgres" in refused.stderr
    assert "Traceback" not in refused.stderr

    environment.install(wheels["postgres"])
    plugins = json.loads(environment.rivet("plugins", "list", "--json", cwd=tmp_path).stdout)["plugins"]
    assert {plugin["name"]: plugin["status"] for plugin in plugins} == {"core": "ok", "postgres": "ok"}
    hooks = next(plugin["hooks"] for plugin in plugins if plugin["name"] == "postgres")
    assert "postgres" in hooks["rivet_sources"]
    shown = environment.rivet("plugins", "list", cwd=tmp_path)
    assert "rivet_sources: postgres" in shown.stdout
    requirements = environment.rivet("plugins", "list", "--requirements", cwd=tmp_path).stdout.split()
    assert requirements == ["rivet-core==0.1.0", "rivet-postgres==0.1.0"]
    assert environment.rivet("plugins", "show", "postgres", cwd=tmp_path).returncode == 0


MIGRATE = """
import sqlite3
from rivet_core.state import open_state
open_state("sqlite:///state.db").close()
with sqlite3.connect("state.db") as database:
    database.executescript(
        "UPDATE rivet_schema SET version = 1; DROP TABLE rivet_alembic; DROP INDEX rivet_event_export;"
        "ALTER TABLE rivet_run DROP COLUMN earlier;"
    )
open_state("sqlite:///state.db").close()
print(database.execute("SELECT version_num FROM rivet_alembic").fetchall())
"""


@pytest.mark.slow
def test_the_wheel_brings_the_migrations_of_the_state(wheels: dict[str, Path], tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    environment.install(wheels["core"])
    command = [str(environment.python), "-c", MIGRATE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stdout.strip()) == (0, "[('0003',)]"), done.stderr
