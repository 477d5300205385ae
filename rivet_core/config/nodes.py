"""A parsed YAML value that remembers its lines. Nodes are immutable, so an alias can be the same node again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from rivet_core.facts import Json


class Scalar(NamedTuple):
    """One value. `plain` says that it stood unquoted, `text` is what was written."""

    line: int
    value: bool | int | float | str | None
    text: str
    plain: bool
    size: int = 1
    height: int = 0

    @property
    def empty(self) -> bool:
        """True when nothing at all stands where a value belongs."""
        return self.plain and not self.text


class Sequence(NamedTuple):
    """A list. `size` counts all nodes in it and `height` the levels below it, aliases expanded."""

    line: int
    items: tuple[Node, ...]
    size: int
    height: int


class Mapping(NamedTuple):
    """A mapping from text keys. `lines` holds the line of each key, `size` and `height` as for `Sequence`."""

    line: int
    entries: dict[str, Node]
    lines: dict[str, int]
    size: int
    height: int


Node: TypeAlias = "Scalar | Sequence | Mapping"
Location: TypeAlias = "tuple[str | int, ...]"


def one_line(text: str) -> str:
    """Return `text` with what does not print escaped, so that a message stays one line whatever a key is called."""
    return text if text.isprintable() else "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def key_path(location: Location) -> str:
    """Return `exports[2].tuning.profile` for a location."""
    out = ""
    for step in location:
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out


def plain_data(node: Node) -> Json:
    """Return `node` as fresh lists, dicts and scalars that share nothing with any other call."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain_data(item) for item in node.items]
    return {key: plain_data(item) for key, item in node.entries.items()}


def extent(nodes: Iterable[Node]) -> tuple[int, int]:
    """Return size and height of a collection of `nodes`."""
    size, height = 1, 0
    for node in nodes:
        size += node.size
        height = max(height, node.height)
    return size, height + 1
