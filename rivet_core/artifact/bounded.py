"""Reading a file that somebody named: never more of it than a plan or a campaign can be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rivet_core.errors import ConfigError

HEAD_BYTES = 1 << 16
MAX_BYTES = 1 << 30
"""A plan of a hundred thousand exports takes a third of it."""


_given: dict[Path, bytes] = {}
"""What came out of pipes (`rivet apply <(...)`), which give it only once."""


def read_object(path: Path) -> bytes:
    """Return the bytes of a file that should hold a JSON object; of one that plainly holds none, only the beginning.

    So a device that never ends costs nothing. Raises `OSError`, and `ConfigError` for a file beyond `MAX_BYTES`.
    """
    if path in _given:
        return _given[path]
    with path.open("rb") as file:
        data = file.read(HEAD_BYTES)
        if data.lstrip()[:1] == b"{":
            data += file.read(MAX_BYTES + 1 - len(data))
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            _given[path] = data
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"{path} is larger than {MAX_BYTES >> 20} MiB", hint="is this a plan or campaign file?", code="too_large"
        )
    return data
