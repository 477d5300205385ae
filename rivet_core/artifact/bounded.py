"""Reading a file that somebody named: never more of it than a plan or a campaign can be."""

from __future__ import annotations

from pathlib import Path

from rivet_core.errors import ConfigError

HEAD_BYTES = 1 << 16
MAX_BYTES = 1 << 30
"""A plan of a hundred thousand exports takes a third of it."""


def read_object(path: Path) -> bytes:
    """Return the bytes of a file that should hold a JSON object; of one that plainly holds none, only the beginning.

    So a device that never ends costs nothing. Raises `OSError`, and `ConfigError` for a file beyond `MAX_BYTES`.
    """
    with path.open("rb") as file:
        data = file.read(HEAD_BYTES)
        if data.lstrip()[:1] != b"{":
            return data
        data += file.read(MAX_BYTES + 1 - len(data))
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"{path} is larger than {MAX_BYTES >> 20} MiB", hint="is this a plan or campaign file?", code="too_large"
        )
    return data
