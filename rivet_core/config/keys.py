"""Set a key of exports in the text of a config, and change nothing else in it.

Comments, anchors, order, quoting, flow style, line ends, a byte order mark and a missing last line end stay as they are: a
value is replaced where it stands, a new key goes behind the export's name. The new text is parsed and compared with the old
before anybody gets to see it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from rivet_core.config.document import Document
from rivet_core.config.expansion import EXTENSION
from rivet_core.config.layout import Spot, lay_out
from rivet_core.config.nodes import Mapping as MappingNode
from rivet_core.config.nodes import plain_data
from rivet_core.config.parser import parse
from rivet_core.errors import ConfigError
from rivet_core.facts import Json

Wanted = Mapping[int, Mapping[str, int | bool]]
"""Export by its place in the config -> key -> value."""

_Asked = dict[tuple[int, str], int | bool | None]
_Edit = tuple[int, int, str]
_BOM = "\ufeff"
_ROUNDS = 4
_BREAKS = "\n\r\x85\u2028\u2029"
"""What ends a line for the reader of configs."""


def set_export_keys(document: Document, wanted: Wanted) -> bytes:
    """Return the file's bytes with the wanted keys set. Raises `ConfigError` where that cannot be done without more changes."""
    text = document.data.decode("utf-8")
    mark = _BOM if text.startswith(_BOM) else ""
    text = text.removeprefix(_BOM)
    root = lay_out(text)
    asked: _Asked = {(index, key): value for index, keys in wanted.items() for key, value in keys.items()}
    goal = _effective(document.root)
    for index, keys in wanted.items():
        goal[index].update(keys)
    keys_set = {key for keys in wanted.values() for key in keys}
    for _ in range(_ROUNDS):
        after = _edited(text, _edits(text, root, asked))
        try:
            found = parse(document.path, after)
        except ConfigError:
            break
        # A key set on an export reaches those that merge it; they say again what they said before.
        reached = {
            (index, key): goal[index].get(key)
            for index, export in enumerate(_effective(found))
            for key in keys_set
            if not _same(export.get(key), goal[index].get(key))
        }
        if not reached:
            if _rest(found, keys_set) == _rest(document.root, keys_set):
                return (mark + after).encode("utf-8")
            break
        if not reached.keys() - asked.keys():
            break
        asked |= reached  # type: ignore[arg-type]
    raise ConfigError(
        f"{document.path}: cannot be edited without changing more than {' and '.join(sorted(keys_set))}",
        hint="write the values of the plan by hand: " + _by_hand(document, wanted),
    )


def _by_hand(document: Document, wanted: Wanted) -> str:
    names = [str(export.get("name")) for export in _effective(document.root)]
    shown = [f"{names[index]} {key}: {json.dumps(value)}" for index, keys in wanted.items() for key, value in keys.items()]
    return ", ".join(shown[:4]) + (", ..." if len(shown) > 4 else "")


def _same(one: Json, other: Json) -> bool:
    return type(one) is type(other) and one == other


def _effective(root: MappingNode) -> list[dict[str, Json]]:
    exports = plain_data(root.entries["exports"])
    return [dict(export) if isinstance(export, dict) else {} for export in exports] if isinstance(exports, list) else []


def _rest(root: MappingNode, keys: set[str]) -> dict[str, object]:
    """Return everything that means something, without the keys that were set."""
    others: dict[str, object] = {
        key: plain_data(node) for key, node in root.entries.items() if not key.startswith(EXTENSION) and key != "exports"
    }
    others["exports"] = [
        {key: value for key, value in export.items() if key not in keys and not key.startswith(EXTENSION)}
        for export in _effective(root)
    ]
    return others


def _exports(root: Spot) -> list[Spot]:
    found = root.find("exports")
    return [] if found is None else [item.meant for item in found.children]


def _edits(text: str, root: Spot, asked: _Asked) -> Iterator[_Edit]:
    """Yield what to put where: `(start, end, new text)`."""
    exports = _exports(root)
    replaced: dict[Spot, str] = {}
    for (index, key), value in asked.items():
        shown = json.dumps(value)
        own = exports[index].own(key)
        if own is None:
            yield _insertion(text, exports[index], key, shown)
        else:
            replaced[own] = shown
    for spot, shown in replaced.items():
        yield spot.start, spot.end, shown
    anchored = {spot for spot in replaced if spot.anchored}
    if anchored:
        # The first alias that stays takes over the anchor with its value.
        for alias in root.aliases():
            target = alias.meant
            if target in anchored and alias not in replaced:
                anchored.discard(target)
                yield alias.start, alias.end, text[target.start : target.end]


def _insertion(text: str, export: Spot, key: str, shown: str) -> _Edit:
    named = next(((name, value) for name, value in export.pairs() if name.text == "name"), None)
    if export.flow:
        quote = named[0].quote if named is not None else ""
        entry = f"{quote}{key}{quote}: {shown}"
        place = export.inner if named is None else named[1].end
        return place, place, f"{entry}, " if named is None else f", {entry}"
    indent = " " * export.column
    if named is None or named[1].quote in ("|", ">"):
        return export.inner, export.inner, f"{key}: {shown}{_break_at(text, _line_end(text, export.inner))}{indent}"
    place = _line_end(text, named[1].end)
    return place, place, f"{_break_at(text, place)}{indent}{key}: {shown}"


def _line_end(text: str, place: int) -> int:
    while place < len(text) and text[place] not in _BREAKS:
        place += 1
    return place


def _break_at(text: str, place: int) -> str:
    """Return how lines end here; on a last line without an end, how the first one ends."""
    if place == len(text):
        place = _line_end(text, 0)
    return text[place : place + 2] if text[place : place + 2] == "\r\n" else text[place : place + 1] or "\n"


def _edited(text: str, edits: Iterator[_Edit]) -> str:
    pieces, done = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])
