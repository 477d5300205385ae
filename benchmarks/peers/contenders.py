"""Who is measured: this product's profiles and the programs people use today, each as one process from nothing to Parquet."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.engines import psql
from benchmarks.peers.tables import Shape

Command = Callable[[Shape, str, Path], list[str]]
"""(shape, url, an empty directory) -> the command. It writes zstd Parquet below the directory."""

SCRIPT = Path(__file__).with_name("drivers.py")


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to read. `missing` says why it cannot take part; `shapes` are those it is meant for, empty for all.

    `writes` is false for one that only drains.
    """

    name: str
    command: Command
    shapes: tuple[str, ...] = ()
    missing: str = ""
    writes: bool = True
    environ: dict[str, str] = field(default_factory=dict)


def contenders(engine: str, tool: str, duckdb: str) -> list[Contender]:
    """Return all for an engine. `tool` is the Rust tool's program, `duckdb` a Python with duckdb; empty means there is none."""
    no_tool = "" if tool and Path(tool).exists() else "give --tool PROGRAM (rivet-cli from PyPI, in an environment of its own)"
    single = ("narrow", "wide")
    everywhere = [
        Contender("rivet fast", _ours(engine, "fast")),
        Contender("rivet fast, one process", _ours(engine, "fast", run=True)),
        Contender("rivet fast, 2 connections", _ours(engine, "fast", workers=2), single),
        Contender("rivet balanced (default)", _ours(engine, "balanced")),
        Contender("rivet-cli fast", _tool(engine, tool, "fast"), missing=no_tool),
        Contender("rivet-cli fast, chunked by 2", _tool(engine, tool, "fast", workers=2), single, missing=no_tool),
        Contender("rivet-cli fast, parallel", _tool(engine, tool, "fast", parallel=True), ("tiny",), missing=no_tool),
        Contender("rivet-cli default", _tool(engine, tool, ""), missing=no_tool),
        Contender("connectorx", _driver("connectorx", sys.executable), missing=_without("connectorx")),
    ]
    if engine != "postgres":
        return everywhere
    client = psql()
    return [
        Contender("floor: COPY binary to nothing", _floor(client), single, "" if client else "psql is missing", writes=False),
        *everywhere,
        Contender("rivet fast, by ADBC", _ours(engine, "fast", options={"engine": "adbc"})),
        Contender("DuckDB postgres scanner", _driver("duckdb", duckdb), missing=_without_scanner(duckdb)),
        Contender("ADBC, no casts", _driver("adbc", sys.executable), missing=_without("adbc_driver_postgresql")),
    ]


def _floor(client: Path | None) -> Command:
    """What the protocol allows: the server's own client drains the table and keeps nothing."""

    def command(shape: Shape, url: str, directory: Path) -> list[str]:
        copies = [f"COPY (SELECT * FROM {name}) TO STDOUT (FORMAT binary)" for name in shape.tables]
        return ["sh", "-c", 'exec "$0" "$@" >/dev/null', str(client), url, *(word for sql in copies for word in ("-c", sql))]

    return command


def _ours(
    engine: str, profile: str, *, workers: int = 1, run: bool = False, options: Mapping[str, str] | None = None
) -> Command:
    def command(shape: Shape, url: str, directory: Path) -> list[str]:
        chunks = {"mode": "chunked", "chunk_count": workers, "parallel": workers} if workers > 1 else {"mode": "full"}
        config = {
            "source": {"type": engine, "url": url, "tuning": {"profile": profile}, **(options or {})},
            "destination": {"type": "local", "path": str(directory / "out")},
            "planning": {"workers": 2},
            "exports": [{"name": name, "table": name, **chunks} for name in shape.tables],
        }
        (directory / "rivet.yaml").write_text(json.dumps(config))
        rivet = f"{shlex.quote(sys.executable)} -m rivet_core.cli"
        if run:
            return ["sh", "-c", f"exec {rivet} run >run.log 2>&1"]
        return ["sh", "-c", f"{rivet} plan -o plan.json >plan.log 2>&1 && {rivet} apply plan.json >apply.log 2>&1"]

    return command


def _tool(engine: str, program: str, profile: str, workers: int = 1, parallel: bool = False) -> Command:
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
        config = {"source": {"type": engine, "url": url, **tuning}, "exports": exports}
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
