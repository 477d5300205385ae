"""`python -m benchmarks.schedule [--full] [--json]`: print the table; exit 1 when a target is missed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict

from benchmarks.schedule.row import Row
from benchmarks.schedule.table import FULL, NORMAL, QUICK, all_rows


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedule", description=main.__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="365 campaigns instead of 73 (some minutes more)")
    size.add_argument("--quick", action="store_true", help="18 campaigns and few events: does it run at all")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    arguments = parser.parse_args()
    started = time.perf_counter()
    rows = []
    for row in all_rows(FULL if arguments.full else QUICK if arguments.quick else NORMAL):
        rows.append(row)
        if not arguments.json:
            print_row(row)
    missed = [row for row in rows if row.met is False]
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        print(f"{len(missed)} targets missed, {time.perf_counter() - started:.0f} s")
    return 1 if missed else 0


def print_row(row: Row) -> None:
    """Print one line, at once, because a full run takes minutes."""
    verdict = {True: "met", False: "MISSED", None: ""}[row.met]
    print(f"{row.target:<4} {row.what:<64} {row.figure:>26}  {row.wanted:<22} {verdict}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
