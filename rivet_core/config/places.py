"""Where each export writes, so that two exports never write to one place."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from functools import lru_cache
from pathlib import Path

from rivet_core.facts import ExportSpec, Json

PATH_TOKENS = ("export", "table", "source", "date", "run_id", "partition")
_TOKEN = re.compile(r"\{(" + "|".join(PATH_TOKENS) + r")\}")
_ANY_TOKEN = re.compile(r"(?<!\$)\{([^{}]*)\}")


def tokens(template: str) -> list[str]:
    """Return the names in `{...}` of a path template, references aside."""
    return _ANY_TOKEN.findall(template)


def output_place(spec: ExportSpec, base: Path) -> str:
    """Return a text that is equal for two exports exactly when they would write to the same directory.

    Compares as the least discerning store does: without case, Unicode composed, trailing dots and spaces dropped. `{date}`,
    `{run_id}` and `{partition}` stay, since they part runs and not exports. A template without `{export}` and `{table}` gets a
    directory named after the export.
    """
    values = {"export": spec.name, "table": spec.table or spec.name, "source": spec.source}
    named = False
    options: dict[str, Json] = {}
    for key, value in sorted(spec.destination.options.items()):
        if isinstance(value, str) and key in {"path", "prefix"}:
            named = named or bool(re.search(r"\{(?:export|table)\}", value))
            filled = _TOKEN.sub(lambda match: values.get(match[1], match[0]), value)
            options[key] = _canonical_path(filled, base if key == "path" else None)
        else:
            options[key] = value
    directory = "" if named or spec.destination.type == "stdout" else _fold(spec.name)
    return json.dumps([spec.destination.type, options, directory], sort_keys=True, ensure_ascii=False)


@lru_cache(maxsize=1024)
def _canonical_path(path: str, base: Path | None) -> str:
    if "://" in path or "${" in path:
        normal = path.rstrip("/")
    elif base is None:
        normal = "/".join(part for part in path.split("/") if part not in {"", "."})
    else:
        try:
            local = Path(path).expanduser()
        except RuntimeError:  # ~name of nobody; the destination says so when it opens
            local = Path(path)
        normal = os.path.normpath(base / local)
    return "/".join(_fold(part) for part in normal.split("/"))


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).rstrip(". ")
