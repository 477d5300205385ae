"""The command line in this process: the same boundary, without the price of an interpreter per command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rivet_core.cli.boundary import run


@dataclass(frozen=True)
class Said:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Said]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """`cli("check", "--json")` in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str | Path) -> Said:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        printed = capfd.readouterr()
        assert "Traceback" not in printed.out + printed.err
        return Said(code, printed.out, printed.err)

    return call
