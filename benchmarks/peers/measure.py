"""One run of a contender: seconds, CPU seconds of its processes, peak RSS, and the longest statement in the server's log."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.contenders import Contender
from benchmarks.peers.engines import Engine
from benchmarks.peers.tables import Shape


@dataclass(frozen=True, slots=True)
class Measured:
    """One run. Times in seconds, `rss` the largest process in MiB, `longest` the longest statement."""

    seconds: float
    cpu: float
    rss: float
    longest: float


class RunFailed(Exception):  # noqa: N818 - an answer of the benchmark, shown in its table
    """A contender ended with an error; the text ends with what it said."""


def run(contender: Contender, shape: Shape, engine: Engine, database: Any) -> Measured:
    """Run it once in an empty directory."""
    with tempfile.TemporaryDirectory(prefix="rvt-peers-") as name:
        directory = Path(name)
        command = contender.command(shape, database.url, directory)
        longest = engine.watch(database)
        environ = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(Path.cwd())), **contender.environ}
        began = time.perf_counter()
        with (directory / "process.log").open("wb") as output:
            process = subprocess.Popen(command, cwd=directory, stdout=output, stderr=output, env=environ)
            _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said = "".join(path.read_text(errors="replace") for path in sorted(directory.glob("*.log")))
            raise RunFailed(f"{contender.name}: exit {process.returncode}: {said.strip()[-600:]}")
        if contender.writes and not list((directory / "out").rglob("*.parquet")):
            raise RunFailed(f"{contender.name}: it wrote no file")
        return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, longest())
