"""A project directory and the real command line run in it as a process, the way a user or an orchestrator runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rivet_core

TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Outcome:
    """What one command did: its exit code and what it printed where."""

    command: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    seconds: float

    def __str__(self) -> str:
        """The whole story, for the message of a failed assertion."""
        head = f"$ {' '.join(self.command)}\nexit {self.exit_code} after {self.seconds:.2f} s"
        return f"{head}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"

    def json(self) -> Any:
        """Return standard output as JSON; nothing else may stand on it."""
        try:
            return json.loads(self.stdout)
        except ValueError as error:
            raise AssertionError(f"standard output is not one JSON document ({error})\n{self}") from None

    def assert_no_traceback(self) -> Outcome:
        """A traceback is a bug, whatever the input was."""
        assert TRACEBACK not in self.stderr + self.stdout, str(self)
        return self

    def assert_done(self) -> Outcome:
        """It ended with exit code 0."""
        self.assert_no_traceback()
        assert self.exit_code == 0, str(self)
        return self

    def assert_failed(self, exit_code: int, *texts: str) -> Outcome:
        """It ended with `exit_code`, and each of `texts` stands in what it printed, whatever the case of letters."""
        self.assert_no_traceback()
        assert self.exit_code == exit_code, f"expected exit {exit_code}\n{self}"
        printed = (self.stdout + self.stderr).lower()
        for text in texts:
            assert text.lower() in printed, f"{text!r} is not in the output\n{self}"
        return self

    def assert_hides(self, *secrets: str) -> Outcome:
        """None of `secrets` was printed anywhere."""
        for secret in secrets:
            assert secret not in self.stdout + self.stderr, f"a secret was printed\n{self}"
        return self


class Project:
    """A directory with a config in it. Commands run in it with a clean environment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.environ: dict[str, str] = {}
        """Variables that every command of this project gets, besides the few it needs to run at all."""

    def write(self, name: str, text: str) -> Path:
        """Write a file, its common indentation taken off."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def config(self, text: str) -> Path:
        """Write `rivet.yaml`."""
        return self.write("rivet.yaml", text)

    def run(
        self,
        *arguments: str | Path,
        environ: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float = 120.0,
    ) -> Outcome:
        """Run `rivet ARGUMENTS` to its end and return what it did."""
        command = self._command(*arguments)
        began = time.monotonic()
        done = subprocess.run(
            command,
            cwd=self.path,
            env=self._environment(environ),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=timeout,
        )
        shown = ("rivet", *map(str, arguments))
        return Outcome(shown, done.returncode, done.stdout, done.stderr, time.monotonic() - began)

    def start(self, *arguments: str | Path, environ: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start `rivet ARGUMENTS` and return the process, for tests that signal or kill it."""
        return subprocess.Popen(
            self._command(*arguments),
            cwd=self.path,
            env=self._environment(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def files(self, pattern: str = "**/*") -> list[Path]:
        """Return the files below the project that match, relative to it, sorted."""
        return sorted(path.relative_to(self.path) for path in self.path.glob(pattern) if path.is_file())

    @staticmethod
    def _command(*arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "rivet_core.cli", *map(str, arguments)]

    def _environment(self, extra: Mapping[str, str] | None) -> dict[str, str]:
        kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT", "LD_LIBRARY_PATH")
        environ = {name: os.environ[name] for name in kept if name in os.environ}
        checkout = str(Path(rivet_core.__file__).parents[1])
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (checkout, os.environ.get("PYTHONPATH", ""))))
        environ.update({"COLUMNS": "200", "NO_COLOR": "1", "PYTHONUTF8": "1"})
        return {**environ, **self.environ, **(extra or {})}
