"""Keep credentials out of the plan: an inline one is replaced by where it stands in the config (PA9)."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from rivet_core.artifact.canonical import canonical
from rivet_core.facts import Json
from rivet_core.references import find_inline_credentials


def without_secrets(options: Mapping[str, Json], *, config: Path, key: str) -> dict[str, Json]:
    """Return `options` with each inline credential replaced by `{"config": path, "key": key path}`.

    `key` is where the options stand in the config, such as `sources.shop`. Apply reads that one value again if the config
    is unchanged.
    """
    kept: dict[str, Json] = copy.deepcopy(dict(options))
    for path in _places(canonical(dict(options))):
        *parents, last = path.split(".")
        place: dict[str, Json] = kept
        for name in parents:
            child = place[name]
            if not isinstance(child, dict):
                break
            place = child
        else:
            place[last] = {"config": str(config), "key": f"{key}.{path}"}
    return kept


@lru_cache(maxsize=256)
def _places(options: bytes) -> tuple[str, ...]:
    """Look once at options that thousands of exports share."""
    return find_inline_credentials(json.loads(options))
