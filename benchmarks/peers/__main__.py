"""Side by side with what people use today, on a private server: alternating order, medians, a table of ratios.

Run: python -m benchmarks.peers --help
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from benchmarks.peers.contenders import Contender, contenders
from benchmarks.peers.engines import ENGINES, Engine
from benchmarks.peers.measure import Measured, RunFailed, run
from benchmarks.peers.tables import Shape, shapes


def main() -> None:
    """Measure and print Markdown."""
    words = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    words.add_argument("--narrow", type=int, default=1_000_000, help="rows of the narrow table, 0 to leave it out")
    words.add_argument("--wide", type=int, default=100_000, help="rows of the wide table, 0 to leave it out")
    words.add_argument("--tiny", type=int, default=50, help="tables of 1,000 rows, 0 to leave them out")
    words.add_argument("--engine", choices=sorted(ENGINES), default="postgres")
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--tool", default="", help="the Rust tool's program")
    words.add_argument("--duckdb", default="", help="a Python that has duckdb and may install its postgres extension")
    given = words.parse_args()
    sizes = {"narrow": given.narrow, "wide": given.wide, "tiny": given.tiny}
    engine = ENGINES[given.engine]
    everybody = contenders(given.engine, given.tool, given.duckdb)
    for one in everybody:
        if one.missing:
            print(f"left out: {one.name}: {one.missing}", file=sys.stderr)
    server = engine.start()
    try:
        for name, shape in shapes(engine.wording, **sizes).items():
            if sizes[name]:
                chosen = [one for one in everybody if not one.missing and (not one.shapes or name in one.shapes)]
                print(table(shape, measure(chosen, shape, engine, server, given.rounds)), flush=True)
    finally:
        server.remove()


def measure(chosen: list[Contender], shape: Shape, engine: Engine, server: Any, rounds: int) -> dict[str, list[Measured] | str]:
    """Run all in turn, `rounds` times, every other round backwards. Who fails once is out, with what it said."""
    database = server.create_database()
    for sql in shape.statements:
        database.execute(sql)
    found: dict[str, list[Measured] | str] = {one.name: [] for one in chosen}
    for number in range(rounds):
        for one in chosen if number % 2 == 0 else reversed(chosen):
            runs = found[one.name]
            if isinstance(runs, str):
                continue
            try:
                runs.append(run(one, shape, engine, database))
            except RunFailed as failure:
                found[one.name] = str(failure)
                print(failure, file=sys.stderr)
    return found


def table(shape: Shape, found: dict[str, list[Measured] | str]) -> str:
    """Return the medians as a Markdown table; ratios are to this product's `fast`."""
    base = _median(found["rivet fast"], "seconds")
    lines = [
        f"### {shape.name}: {shape.title}",
        "",
        "| | seconds | of `rivet fast` | CPU s | RSS MiB | longest statement s |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, runs in found.items():
        if isinstance(runs, str):
            lines.append(f"| {name} | failed | | | | |")
            continue
        seconds = _median(runs, "seconds")
        figures = f"{_median(runs, 'cpu'):.2f} | {_median(runs, 'rss'):.0f} | {_median(runs, 'longest'):.2f}"
        lines.append(f"| {name} | {seconds:.2f} | {seconds / base:.2f}x | {figures} |")
    return "\n".join([*lines, ""])


def _median(runs: list[Measured] | str, figure: str) -> float:
    return statistics.median(getattr(one, figure) for one in runs) if not isinstance(runs, str) else float("nan")


if __name__ == "__main__":
    main()
