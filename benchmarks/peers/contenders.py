"""Who is measured: this product's profiles and the programs people use today, each as one process from nothing to Parquet."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.tables import Shape

Command = Callable[[Shape, str, Path], list[str]]
"""(shape, url, an empty directory) -> the command. It writes zstd Parquet below the directory."""

SCRIPT = Path(__file__).with_name("drivers.py")


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to read. `missing` says why it cannot take part; `shapes` are those it is meant for, empty for all."""

    name: str
    command: Command
    shapes: tuple[str, ...] = ()
    missing: str = ""
    environ: dict[str, str] = field(default_factory=dict)


def contenders(tool: str, duckdb: str) -> list[Contender]:
    """Return all of them. `tool` is the Rust tool's program, `duckdb` a Python with duckdb; empty means that there is none."""
    no_tool = "" if tool and Path(tool).exists() else "give --tool PROGRAM (rivet-cli from PyPI, in an environment of its own)"
    single = ("narrow", "wide")
    return [
        Contender("rivet fast", _ours("fast")),
        Contender("rivet fast, 2 connections", _ours("fast", workers=2), single),
        Contender("rivet balanced (default)", _ours("balanced")),
        Contender("rivet-cli fast", _tool(tool, "fast"), missing=no_tool),
        Contender("rivet-cli fast, chunked by 2", _tool(tool, "fast", workers=2), single, missing=no_tool),
        Contender("rivet-cli fast, parallel", _tool(tool, "fast", parallel=True), ("tiny",), missing=no_tool),
        Contender("rivet-cli default", _tool(tool, ""), missing=no_tool),
        Contender("DuckDB postgres scanner", _driver("duckdb", duckdb), missing=_without_scanner(duckdb)),
        Contender("connectorx", _driver("connectorx", sys.executable), missing=_without("connectorx")),
        Contender("ADBC, no casts", _driver("adbc", sys.executable), missing=_without("adbc_driver_postgresql")),
    ]


def _ours(profile: str, workers: int = 1) -> Command:
    def command(shape: Shape, url: str, directory: Path) -> list[str]:
        chunks = {"mode": "chunked", "chunk_count": workers, "parallel": workers} if workers > 1 else {"mode": "full"}
        config = {
            "source": {"type": "postgres", "url": url, "tuning": {"profile": profile}},
            "destination": {"type": "local", "path": str(directory / "out")},
            "planning": {"workers": 2},
            "exports": [{"name": name, "table": f"public.{name}", **chunks} for name in shape.tables],
        }
        (directory / "rivet.yaml").write_text(json.dumps(config))
        rivet = f"{shlex.quote(sys.executable)} -m rivet_core.cli"
        return ["sh", "-c", f"{rivet} plan -o plan.json >plan.log 2>&1 && {rivet} apply plan.json >apply.log 2>&1"]

    return command


def _tool(program: str, profile: str, workers: int = 1, parallel: bool = False) -> Command:
    def command(shape: Shape, url: str, directory: Path) -> list[str]:
        tuning = {"tuning": {"profile": profile}} if profile else {}
        chunks = {"mode": "full"}
        if workers > 1:
            chunks = {"mode": "chunked", "chunk_column": "id", "chunk_size": 250_000, "parallel": workers}  # type: ignore[dict-item]
        exports = [
            {
                "name": name,
                "query": f"SELECT * FROM {name}",
                **chunks,
                "format": "parquet",
                "destination": {"type": "local", "path": str(directory / "out" / name)},
            }
            for name in shape.tables
        ]
        config = {"source": {"type": "postgres", "url": url, **tuning}, "exports": exports}
        (directory / "rivet.yaml").write_text(json.dumps(config))
        more = " --parallel-exports" if parallel else ""
        return ["sh", "-c", f"{shlex.quote(program)} run -c rivet.yaml{more} >run.log 2>&1"]

    return command


def _driver(driver: str, python: str) -> Command:
    def command(shape: Shape, url: str, directory: Path) -> list[str]:
        (directory / "tables.json").write_text(json.dumps(shape.tables))
        return [python, str(SCRIPT), driver, url, str(directory)]

    return command


def _without(module: str) -> str:
    done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
    return "" if done.returncode == 0 else f"{module} is not installed"


def _without_scanner(python: str) -> str:
    if not python:
        return "give --duckdb PYTHON (an environment with duckdb)"
    load = "import duckdb; duckdb.sql('INSTALL postgres'); duckdb.sql('LOAD postgres')"
    done = subprocess.run([python, "-c", load], capture_output=True, text=True, check=False, env=os.environ)
    return "" if done.returncode == 0 else "its extension cannot be installed here"
