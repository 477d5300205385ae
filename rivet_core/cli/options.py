"""Options that several commands take, defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[Path, typer.Option("-c", "--config", help="The config file.", metavar="FILE")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines on stdout.")]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="Say more, on stderr.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Say only warnings and errors.")]
ExportsOption = Annotated[
    list[str] | None, typer.Option("-e", "--export", help="Only this export; may be repeated.", metavar="NAME")
]

DEFAULT_CONFIG = Path("rivet.yaml")
