"""Options that several commands take, defined once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[Path, typer.Option("-c", "--config", help="The config file.", metavar="FILE")]
UnreadConfigOption = Annotated[
    Path, typer.Option("-c", "--config", help="Taken as by every command; this one reads none.", metavar="FILE")
]
"""For the commands that need no config, so that a script may give the same options to all."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines on stdout.")]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="Say more, on stderr.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Say only warnings and errors.")]
ExportsOption = Annotated[
    list[str] | None, typer.Option("-e", "--export", help="Only this export; may be repeated.", metavar="NAME")
]

MAX_LISTED = 1_000_000
"""What `--limit` ends at."""

YEAR_MINUTES = 365 * 24 * 60
"""What durations end at: nobody waits longer, and a clock takes it."""

DEFAULT_CONFIG = Path("rivet.yaml")


def a_number(value: float) -> float:
    """Check an option's number where a range does not: `nan` is in every range. For `callback=`."""
    if math.isnan(value):
        raise typer.BadParameter("nan is not a number")
    return value
