"""Where each export writes, so that two exports never write to one place."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from functools import lru_cache
from pathlib import Path

from rivet_core.facts import ExportSpec
from rivet_core.stores import segment

PATH_TOKENS = ("export", "table", "source", "date", "run_id", "partition")
_PATH_KEYS = ("path", "prefix")
_TOKEN = re.compile(r"(?<!\$)\{(" + "|".join(PATH_TOKENS) + r")\}")
_ANY_TOKEN = re.compile(r"(?<!\$)\{([^{}]*)\}")


def tokens(template: str) -> list[str]:
    """Return the names in `{...}` of a path template, references aside."""
    return _ANY_TOKEN.findall(template)


def output_places(spec: ExportSpec, base: Path) -> frozenset[str]:
    """Return the directories that belong to an export alone: that of its runs, and that of its `_rivet/current.json`.

    Compares as the least discerning store does: without case, Unicode composed, trailing dots and spaces dropped. `{date}`,
    `{run_id}` and `{partition}` part runs and not exports, so they stay. Runs lie below a directory named after the export
    unless the template has `{export}` or `{table}`; `current.json` always does, below what stands before the first token.
    """
    if spec.destination.type == "stdout":
        return frozenset({"stdout"})
    values = {"export": segment(spec.name), "table": segment(spec.table or spec.name), "source": segment(spec.source)}
    runs = root = ""
    named = False
    for key in _PATH_KEYS:
        written = spec.destination.options.get(key)
        if isinstance(written, str):
            named = named or bool({"export", "table"}.intersection(tokens(written)))
            relative_to = base if key == "path" else None
            runs += _canonical(_TOKEN.sub(lambda match: values.get(match[1], match[0]), written), relative_to)
            root += _canonical(_before_tokens(written), relative_to)
    own = "/" + _fold(values["export"])
    rest = {key: value for key, value in spec.destination.options.items() if key not in _PATH_KEYS}
    store = json.dumps([spec.destination.type, rest], sort_keys=True, ensure_ascii=False)
    return frozenset({f"{store} {runs}{'' if named else own}", f"{store} {root}{own}"})


def _before_tokens(template: str) -> str:
    pieces = template.split("/")
    first = next((place for place, piece in enumerate(pieces) if _TOKEN.search(piece)), len(pieces))
    return "/".join(pieces[:first]) or ("/" if template.startswith("/") else "")


@lru_cache(maxsize=1024)
def _canonical(path: str, base: Path | None) -> str:
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
