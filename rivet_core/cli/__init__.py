"""The command line: one file per command, bodies that import lazily, one error boundary."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> None:
    """Run `rivet` with `argv` (default: the process's own arguments) and exit."""
    from rivet_core.cli.boundary import run

    raise SystemExit(run(argv))
