"""`rivet plugins new` and `check`: scaffolds are green from the start, and a plugin that breaks a rule hears it in words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rivet_core.cli.scaffold import KINDS, names_of


def messages(said: Any, severity: str = "error") -> str:
    return "\n".join(finding["message"] for finding in said.data["findings"] if finding["severity"] == severity)


def test_a_scaffold_passes_the_kit_and_its_own_tests(cli: Any) -> None:
    assert cli("plugins", "new", "acme-audit", "--kind", "rule").code == 0
    said = cli("plugins", "check", "./rivet-acme-audit", "--json")
    assert said.code == 0, said.out
    held = [finding["message"] for finding in said.data["findings"] if finding["severity"] == "ok"]
    assert any(int(message.split()[0]) >= 13 and "its own tests" in message for message in held), held


@pytest.mark.slow
def test_the_tests_of_every_kind_are_green(cli: Any, tmp_path: Path) -> None:
    for kind in KINDS:
        root = tmp_path / kind
        assert cli("plugins", "new", f"my-{kind}", "--kind", kind, "-o", root).code == 0
        info = root / f"rivet_my_{kind}-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: rivet-my-{kind}\nVersion: 0.1.0\n")
        (info / "entry_points.txt").write_text(f"[rivet.v1]\nmy-{kind} = rivet_my_{kind}\n")
    paths = os.pathsep.join(str(tmp_path / kind) for kind in KINDS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *KINDS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


def test_new_says_what_it_wrote(cli: Any, tmp_path: Path) -> None:
    said = cli("plugins", "new", "Acme-Audit", "--json")
    assert said.code == 0
    assert said.data["dist"] == "rivet-acme-audit"
    assert all((tmp_path / file).is_file() for file in said.data["files"])
    text = "".join((tmp_path / file).read_text() for file in said.data["files"])
    assert "X-acmeaudit-001" in text
    assert "$plugin" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("new", "acme", "--kind", "rules"), "the kinds are rule"),
        (("new", "../evil"), "cannot be the name"),
        (("new", "1st"), "cannot be the name"),
        (("new", ""), "cannot be the name"),
        (("new", "acme", "-o", "taken"), "already there"),
        (("check", "./nowhere-at-all"), "no pyproject.toml"),
        (("check", "no-such-plugin"), "no plugin is called"),
        (("check", "taken"), "no pyproject.toml"),
    ],
)
def test_bad_input_is_one_line_and_a_hint(cli: Any, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    said = cli("plugins", *arguments)
    assert said.code == 2
    assert words in said.err
    assert "hint:" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_package_without_the_entry_point_is_told_which_one(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n[project.entry-points."rivet.v9"]\nx = "x"\n')
    said = cli("plugins", "check", "./")
    assert said.code == 3
    assert "rivet.v1" in said.err


def test_a_rule_that_cheats_hears_it_in_words(cli: Any, tmp_path: Path) -> None:
    cli("plugins", "new", "acme", "--kind", "rule")
    module = tmp_path / "rivet-acme" / "rivet_acme" / "rule.py"
    module.write_text(
        module.read_text()
        .replace("points=options.points", "points=10**9")
        .replace("    if not table", "    import rivet_core.planning.fold\n    if not table")
    )
    said = cli("plugins", "check", "./rivet-acme", "--json")
    assert said.code == 3
    assert "not public: rule.py: rivet_core.planning.fold" in messages(said)
    assert "1000000000 points" in messages(said)


def test_a_plugin_that_raises_at_import_is_named(cli: Any, tmp_path: Path) -> None:
    cli("plugins", "new", "acme", "--kind", "policy")
    (tmp_path / "rivet-acme" / "rivet_acme" / "__init__.py").write_text("raise RuntimeError('no licence')\n")
    said = cli("plugins", "check", "./rivet-acme", "--json")
    assert said.code == 3
    assert "it is admitted: broken: RuntimeError: no licence" in messages(said)


@pytest.mark.slow
def test_a_rule_that_hangs_is_waited_for_aloud_and_not_long(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rivet_core.cli.plugin_check.CHECK_SECONDS", 1.0)
    cli("plugins", "new", "acme", "--kind", "rule")
    root = tmp_path / "rivet-acme"
    rule = root / "rivet_acme" / "rule.py"
    rule.write_text(rule.read_text() + "def score(facts, options):\n    while True: pass\n")
    (root / "tests" / "test_rule.py").unlink()
    said = cli("plugins", "check", "./rivet-acme", "--json")
    assert said.code == 3
    assert "it is pure: it did not come back within 1 s" in messages(said)
    assert "checks of the kit hold" in messages(said, "ok")
    assert "plugin acme: the kit, at most 1 s a check" in said.err


def test_own_tests_that_hang_are_named(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rivet_core.cli.plugin_check.SECONDS", 8.0)
    cli("plugins", "new", "acme", "--kind", "rule")
    (tmp_path / "rivet-acme" / "tests" / "test_rule.py").write_text(
        "import time\ndef test_quick(): pass\ndef test_slow(): time.sleep(600)\n"
    )
    said = cli("plugins", "check", "./rivet-acme", "--json")
    assert said.code == 3
    assert "its own tests did not end within 8 s, during " in messages(said)
    assert "test_rule.py::test_slow" in messages(said)


def test_what_it_prints_at_import_is_no_fault(cli: Any, tmp_path: Path) -> None:
    cli("plugins", "new", "acme", "--kind", "rule")
    module = tmp_path / "rivet-acme" / "rivet_acme" / "__init__.py"
    module.write_text(module.read_text() + "print('HELLO', end='')\n")
    said = cli("plugins", "check", "./rivet-acme", "--json")
    assert said.code == 0, said.out


def test_an_installed_plugin_is_checked_by_name(cli: Any) -> None:
    said = cli("plugins", "check", "s3", "--json")
    assert said.code == 0, said.out
    assert "s3 (rivet_destinations) needs a place of its own" in messages(said, "info")


def test_core_passes_its_own_kit(cli: Any) -> None:
    """Its modules need not be public to itself."""
    said = cli("plugins", "check", "core", "--json")
    assert said.code == 0, said.out


def test_names() -> None:
    names = names_of("rivet-acme_wide-rows", "source")
    assert (names.plugin, names.dist, names.package) == ("acme_wide-rows", "rivet-acme-wide-rows", "rivet_acme_wide_rows")
    assert names.vendor == "acmewiderows"
