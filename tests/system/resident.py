"""How large a command's process became, by the kernel's own count."""

from __future__ import annotations

import os
import subprocess
import sys

from rivet_core.testing.project import Project

# Not `ru_maxrss`: a process keeps that of the one it was forked from, and the test runner may be larger than the command.
_RUN = """
import atexit, os, re
from pathlib import Path
def tell():
    Path(os.environ["RESIDENT"]).write_text(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
atexit.register(tell)
from rivet_core.cli import main
main()
"""


def peak_bytes(project: Project, *arguments: str) -> int:
    """Run a command to its end, which must be a good one; return the largest resident size of its process in bytes."""
    told = project.path / "resident"
    environ = {**os.environ, **project.environ, "RESIDENT": str(told)}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments], cwd=project.path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(told.read_text()) * 1024
