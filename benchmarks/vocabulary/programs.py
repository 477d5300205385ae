"""The two programs: the same config in a directory each, and what they wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rivet_core.testing.s3 import S3Bucket

SECONDS = 300


class ProgramFailed(Exception):  # noqa: N818 - a result to report
    """A program did not end with 0. The text is the end of what it said."""


def run(command: list[str], folder: Path, environ: dict[str, str]) -> str:
    """Run a program in `folder` and return its stdout."""
    environ = {**os.environ, **environ, "HOME": str(folder), "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise ProgramFailed(f"exit {done.returncode}: {' / '.join(said[-3:])[:600]}")
    return done.stdout


def ours(folder: Path, environ: dict[str, str]) -> None:
    """Plan and apply with this program."""
    run([sys.executable, "-m", "rivet_core.cli", "run", "-c", "rivet.yaml", "-q"], folder, environ)


def ours_wrote(folder: Path, export: str, environ: dict[str, str], bucket: S3Bucket | None) -> Iterator[tuple[str, bytes]]:
    """Yield the files that are the dataset now."""
    text = run([sys.executable, "-m", "rivet_core.cli", "files", export, "-c", "rivet.yaml", "--json"], folder, environ)
    for file in json.loads(text)["files"]:
        path = str(file["path"])
        if bucket is None:
            yield path, Path(path).read_bytes()
        else:
            yield path, bucket.get(path.partition(f"//{bucket.name}/")[2])


def theirs(program: str, folder: Path, environ: dict[str, str]) -> None:
    """Run with the Rust tool."""
    run([program, "run", "-c", "rivet.yaml"], folder, environ)


def theirs_wrote(folder: Path, export: str, bucket: S3Bucket | None) -> Iterator[tuple[str, bytes]]:
    """Yield the files whose names begin with the export's."""
    if bucket is None:
        for path in sorted((folder / "out").rglob(f"{export}_*")):
            if path.suffix in (".parquet", ".csv"):
                yield path.name, path.read_bytes()
    else:
        keys = bucket.keys()
        for key in keys:
            if key.rpartition("/")[2].startswith(f"{export}_") and key.endswith((".parquet", ".csv")):
                yield key, bucket.get(key)
