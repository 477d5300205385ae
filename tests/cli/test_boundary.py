"""The one error boundary: every error is `error:` and `hint:`, or one JSON object, with the documented exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rivet_core.cli import boundary
from rivet_core.cli.app import app
from rivet_core.errors import (
    SEVERITY,
    BusyError,
    ConfigError,
    IntegrityError,
    InternalError,
    PlanRefused,
    PluginError,
    RivetError,
    SourceError,
    most_serious,
)
from rivet_core.testing.project import Project
from tests.cli.conftest import Cli
from tests.cli.shop import Shop


def run(argv: list[str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> int:
    monkeypatch.chdir(folder)
    return boundary.run(argv)


def test_a_missing_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan"], monkeypatch, tmp_path) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("hint: ")


@pytest.mark.parametrize("flags", [["--json"], ["--format", "json"], ["--format=json"]])
def test_json_errors(
    flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *flags], monkeypatch, tmp_path) == 2
    printed = capsys.readouterr()
    error = json.loads(printed.out)["error"]
    assert error["exit_code"] == 2
    assert set(error) == {"code", "message", "hint", "exit_code"}
    assert printed.err == ""


@pytest.mark.parametrize(
    "argv", [["plna"], ["plan", "--nope"], ["plan", "--workers", "x"], ["explain"], ["schema", "nope"], ["plugins", "nope"]]
)
def test_usage_errors_name_the_help(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv, monkeypatch, tmp_path) == 2
    assert "--help" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RivetError("x"), 1),
        (SourceError("x"), 1),
        (ConfigError("x"), 2),
        (PluginError("x"), 3),
        (PlanRefused("x"), 4),
        (IntegrityError("x"), 5),
        (BusyError("x"), 6),
        (InternalError("x"), 7),
    ],
)
def test_exit_codes_of_the_kinds(error: RivetError, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.report(error, machine=False) == code
    assert capsys.readouterr().err.startswith("error: x")


def test_a_bug_is_one_line_and_its_way_is_shown_only_with_v_and_its_words_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "geheim"

    def broken(arguments: list[str]) -> int:
        raise ZeroDivisionError(f"postgresql://rivet:{secret}@db/shop\nb")

    monkeypatch.setattr(boundary, "_dispatch", broken)
    assert boundary.run(["plan"]) == 7
    short = capsys.readouterr().err
    assert re.fullmatch(r"error: internal error: ZeroDivisionError at test_boundary.py:\d+\nhint: .+\n", short)
    assert boundary.run(["plan", "-v"]) == 7
    long = capsys.readouterr().err
    assert "in broken" in long
    assert long.endswith(short)
    assert secret not in short + long


def test_messages_stay_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    boundary.report(ConfigError("a\n  b", hint="c\nd"), machine=False)
    assert capsys.readouterr().err == "error: a b\nhint: c d\n"


def test_the_most_serious_code_wins() -> None:
    assert most_serious([]) == 0
    assert most_serious([0, 1, 2]) == 2
    assert most_serious([1, 6, 3, 4, 5]) == 5
    assert most_serious([7, 5]) == 7
    assert [most_serious([code, 1]) for code in SEVERITY] == list(SEVERITY)


def process(argv: list[str], folder: Path, stdout: int, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "rivet_core.cli", *argv],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environ},
        timeout=60,
        check=False,
    )


def test_a_reader_that_went_away_is_141_without_a_word(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = process(["schema", "config"], tmp_path, writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_stdout_is_said(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = process(["plan", "--json"], tmp_path, full.fileno())
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: cannot write to stdout: ")


def test_names_that_the_locale_lacks_are_escaped(tmp_path: Path) -> None:
    done = process(["plan", "--json", "-c", "\u8ba2.yaml"], tmp_path, subprocess.PIPE, PYTHONIOENCODING="ascii")
    assert done.returncode == 2
    assert "\u8ba2.yaml" in json.loads(done.stdout)["error"]["message"]


def test_every_command_takes_the_common_options(cli: Cli) -> None:
    commands = {
        (*path, name): command
        for path, group in {(): get_command(app), **{(name,): found for name, found in groups(get_command(app))}}.items()
        for name, command in group.commands.items()
        if not hasattr(command, "commands")
    }
    assert ("plugins", "new") in commands
    for name, command in commands.items():
        taken = {option for parameter in command.params for option in parameter.opts}
        assert {"-c", "--config", "--json", "-v", "--verbose", "-q", "--quiet"} <= taken, name


def groups(command: Any) -> list[tuple[str, Any]]:
    return [(name, found) for name, found in command.commands.items() if hasattr(found, "commands")]


@pytest.mark.parametrize("group", ["schema", "plugins"])
def test_a_group_without_a_command_says_so(cli: Cli, group: str) -> None:
    said = cli(group)
    assert (said.code, said.err) == (2, f"error: a command is missing\nhint: rivet {group} --help shows what it takes\n")


def test_state_alone_is_the_progression(cli: Cli, tmp_path: Path) -> None:
    Shop(tmp_path)
    cli("run", "-q")
    said = cli("state", "--json", "-e", "orders")
    assert said.data == cli("state", "progression", "--json", "-e", "orders").data
    (found,) = said.data["exports"]
    assert found["committed"]
    assert found["observed"] == found["committed"]
    assert cli("state", "--json", "show").data["error"]["code"] == "usage"


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_ctrl_c_outside_of_a_campaign_is_said(flags: list[str], rivet: Project) -> None:
    os.mkfifo(rivet.path / "rivet.yaml")
    process = rivet.start("plan", *flags)
    with (rivet.path / "rivet.yaml").open("w"):  # it reads its config now, and waits for the end of it
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    if flags:
        assert json.loads(out)["error"]["code"] == "interrupted"
    else:
        assert (out, err.splitlines()[0]) == ("", "error: interrupted")
