"""How long `rivet --help` takes against an interpreter that does nothing: ratios taken side by side, alternating, medians.

Run: python -m benchmarks.startup
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 15
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "rivet --help": ["-m", "rivet_core.cli", "--help"],
    "rivet plugins list": ["-m", "rivet_core.cli", "plugins", "list"],
}


def seconds(arguments: list[str]) -> float:
    """Return the wall time of one fresh interpreter."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    """Measure all commands in turn and print their medians and ratios."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            taken[name].append(seconds(arguments))
    base = statistics.median(taken["python -c pass"])
    print(f"start-up, median of {ROUNDS}, alternating")
    for name, values in taken.items():
        median = statistics.median(values)
        print(f"  {name:<20} {median * 1000:7.1f} ms   {median / base:5.1f} x")


if __name__ == "__main__":
    main()
