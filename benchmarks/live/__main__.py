"""`python -m benchmarks.live [--runs N] [--tables N] [--json]`: print the table; exit 1 when a target is missed."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from benchmarks.live.agree import measure_agreement
from benchmarks.live.bound import measure_bound
from benchmarks.live.split import measure_split
from benchmarks.schedule.__main__ import print_row
from benchmarks.schedule.row import Row


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=main.__doc__)
    parser.add_argument("--runs", type=int, default=3, help="live runs of each kind; figures are their medians")
    parser.add_argument("--tables", type=int, default=300, help="tables over two PostgreSQL and one MariaDB")
    parser.add_argument("--exports", type=int, default=24, help="exports made of pg_sleep")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="rivet-live-") as directory:
        for row in _rows(arguments, Path(directory)):
            rows.append(row)
            if not arguments.json:
                print_row(row)
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    return 1 if any(row.met is False for row in rows) else 0


def _rows(arguments: argparse.Namespace, directory: Path) -> Iterator[Row]:
    from rivet_core.testing.mariadb import open_mysql
    from rivet_core.testing.postgres import open_postgres

    with ExitStack() as stack:
        servers = []
        for _ in range(2):
            server = open_postgres()
            stack.callback(server.remove)
            servers.append(server)
        maria = open_mysql()
        stack.callback(maria.remove)
        postgres = [server.create_database() for server in servers]
        yield from measure_agreement(postgres[0], directory / "agree", exports=arguments.exports, runs=arguments.runs)
        yield from measure_split(postgres[1], directory / "split", runs=arguments.runs)
        yield from measure_bound(
            postgres, maria.create_database(), directory / "bound", tables=arguments.tables, runs=arguments.runs
        )


if __name__ == "__main__":
    sys.exit(main())
