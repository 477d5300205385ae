"""Where each part of a config stands in its text: what an edit needs that must keep every other byte.

The tree follows the events of libyaml, aliases unexpanded. Positions count characters from the start of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spot:
    """One node. `start` and `end` enclose it with its tag and anchor.

    `text` is a scalar's value and `quote` its quotation mark, `|` or `>`, empty for a plain one. `inner` is where a mapping
    begins: after `{`, or at its first key, whose `column` indents the others. A mapping's `children` are keys and values in
    turn; `target` is what an alias stands for.
    """

    start: int
    end: int
    kind: str
    text: str = ""
    quote: str = ""
    flow: bool = False
    inner: int = 0
    column: int = 0
    anchored: bool = False
    children: tuple[Spot, ...] = ()
    target: Spot | None = None

    @property
    def meant(self) -> Spot:
        """The node itself, or what the alias stands for."""
        return self.target or self

    def pairs(self) -> Iterator[tuple[Spot, Spot]]:
        """Yield the keys of a mapping with their values, merges unmerged."""
        steps = iter(self.children)
        return zip(steps, steps, strict=True)

    def own(self, key: str) -> Spot | None:
        """Return the value that this mapping itself gives to `key`."""
        return next((value for name, value in self.pairs() if name.text == key), None)

    def find(self, key: str) -> Spot | None:
        """Return the value of `key`, its own or a merged one, aliases followed."""
        found = self.own(key)
        merged = None if found is not None else self.own("<<")
        if merged is not None:
            sources = merged.meant.children if merged.meant.kind == "sequence" else (merged,)
            found = next((value for source in sources if (value := source.meant.find(key)) is not None), None)
        return None if found is None else found.meant

    def aliases(self) -> Iterator[Spot]:
        """Yield every alias in this node, in the order of the text."""
        if self.kind == "alias":
            yield self
        for child in self.children:
            yield from child.aliases()


def lay_out(text: str) -> Spot:
    """Return the top node of `text`, which `parser.parse` has accepted before."""
    reader = _Reader(text)
    for _ in range(2):  # the stream and the document begin
        reader.next()
    return reader.node(reader.next())


class _Reader:
    def __init__(self, text: str) -> None:
        self.next: Callable[[], Any] = _LOADER(text).get_event
        self.anchors: dict[str, Spot] = {}

    def node(self, event: Any) -> Spot:
        start, end = event.start_mark.index, event.end_mark.index
        if type(event) is yaml.AliasEvent:
            return Spot(start=start, end=end, kind="alias", target=self.anchors[str(event.anchor)])
        if type(event) is yaml.ScalarEvent:
            spot = Spot(
                start=start,
                end=end,
                kind="scalar",
                text=str(event.value),
                quote=event.style or "",
                anchored=bool(event.anchor),
            )
        else:
            mapping = type(event) is yaml.MappingStartEvent
            closing: Any = yaml.MappingEndEvent if mapping else yaml.SequenceEndEvent
            children = []
            following: Any = self.next()
            while type(following) is not closing:
                children.append(self.node(following))
                following = self.next()
            spot = Spot(
                start=start,
                end=following.end_mark.index,
                kind="mapping" if mapping else "sequence",
                flow=bool(event.flow_style),
                inner=end,
                column=event.end_mark.column,
                anchored=bool(event.anchor),
                children=tuple(children),
            )
        if event.anchor:
            self.anchors[event.anchor] = spot
        return spot
