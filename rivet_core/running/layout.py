"""Where an export's files are: keys below the destination's root, and the tokens that may stand in its path.

Without tokens a run is `{export}/run={run_id}/`. A destination `path` (or `prefix`) may hold `{export} {table} {source} {date}
{run_id} {partition}`: what stands before the first component with a token is the root, the rest shapes the run's directory.
`{export}/_rivet/current.json` is always right below that root, so it can be found without knowing any run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from rivet_core.errors import ConfigError
from rivet_core.facts import DestinationRef, ExportSpec, Json
from rivet_core.stores import join, segment

PATH_KEYS = ("path", "prefix")
"""Options of a destination in which tokens are expanded."""

_TOKEN = re.compile(r"(?<!\$)\{(\w+)\}")
TOKENS = ("export", "table", "source", "date", "run_id", "partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The keys of one export. `template` is the part of the destination's path that depends on the export or the run."""

    export: str
    table: str = ""
    source: str = ""
    format: str = "parquet"
    template: str = ""

    @property
    def home(self) -> str:
        """The directory that belongs to the export whatever the run."""
        return segment(self.export)

    @property
    def current(self) -> str:
        """The key of the file that names the dataset as it is now."""
        return join(self.home, "_rivet", "current.json")

    def run(self, run_id: str, at: datetime, partition: str = "") -> str:
        """Return the directory of one run; two runs never share one."""
        named = set(_TOKEN.findall(self.template))
        values = {
            "export": segment(self.export),
            "table": segment(self.table or self.export),
            "source": segment(self.source),
            "date": at.astimezone(UTC).date().isoformat(),
            "run_id": segment(run_id),
            "partition": partition,
        }
        shaped = re.sub("/+", "/", _TOKEN.sub(lambda match: values[match.group(1)], self.template))
        return join(
            shaped,
            "" if named & {"export", "table"} else self.home,
            "" if "run_id" in named else f"run={segment(run_id)}",
            "" if "partition" in named else partition,
        )

    def part(self, run_id: str, at: datetime, unit: int, part: int, partition: str = "") -> str:
        """Return the key of one part: a function of run, unit and part, so a retried unit overwrites its own files."""
        return join(self.run(run_id, at, partition), f"part-{unit:05}-{part:03}.{self.format}")

    def manifest(self, run_id: str, at: datetime) -> str:
        """Return the key of a run's manifest."""
        return join(self.run(run_id, at), "manifest.json")

    def success(self, run_id: str, at: datetime) -> str:
        """Return the key of the mark that says: this run wrote everything."""
        return join(self.run(run_id, at), "_SUCCESS")


def layout_of(spec: ExportSpec) -> tuple[dict[str, Json], Layout]:
    """Return the destination's options with the tokens taken out of its path, and the layout that has them."""
    options, template = split_tokens(spec.destination)
    unknown = next((name for name in _TOKEN.findall(template) if name not in TOKENS), None)
    if unknown:
        raise ConfigError(
            f"{spec.name}: the destination's path has the unknown token {{{unknown}}}",
            hint=f"tokens: {', '.join(f'{{{name}}}' for name in TOKENS)}",
        )
    return options, Layout(export=spec.name, table=spec.table or "", source=spec.source, format=spec.format, template=template)


def split_tokens(destination: DestinationRef) -> tuple[dict[str, Json], str]:
    """Split the path before its first component with a token."""
    options: dict[str, Json] = dict(destination.options)
    template = ""
    for key in PATH_KEYS:
        value = options.get(key)
        if not isinstance(value, str) or not _TOKEN.search(value):
            continue
        pieces = value.split("/")
        first = next(place for place, piece in enumerate(pieces) if _TOKEN.search(piece))
        root = "/".join(pieces[:first])
        options[key] = root or ("/" if value.startswith("/") else "." if key == "path" else "")
        template = "/".join(pieces[first:])
    return options, template
