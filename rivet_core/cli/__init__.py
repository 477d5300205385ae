"""The command line: one file per command, bodies that import lazily, one error boundary."""

from __future__ import annotations

import atexit
import gc as collector  # the name gc becomes the module of that command
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> None:
    """Run `rivet` with `argv` (default: the process's own arguments) and exit."""
    if argv is None:
        _spare_the_collector()
    from rivet_core.cli.boundary import run

    raise SystemExit(run(argv))


def _spare_the_collector() -> None:
    """Leave alone what a process of our own only imports: walking it again and again, and at its end, was a quarter of a
    small command's time.
    """
    collector.set_threshold(50_000, 20, 50)
    atexit.register(collector.freeze)
