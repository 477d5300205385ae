"""From YAML text to nodes, on libyaml's events.

Every key and value keeps its line, duplicate keys are seen, no class of the file's choosing is ever constructed, and what
aliases expand to is bounded before anything is expanded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from rivet_core.config.nodes import Mapping, Node, Scalar, Sequence, extent, one_line
from rivet_core.config.scalars import read_plain
from rivet_core.errors import ConfigError

MAX_DEPTH = 64
MAX_NODES = 2_000_000
"""Values after aliases are expanded; a config of 10,000 exports has about 200,000."""

_TAGS = {f"tag:yaml.org,2002:{name}": name for name in ("str", "int", "float", "bool", "null", "map", "seq")}
_TYPES: dict[str, type] = {"int": int, "float": float, "bool": bool, "null": type(None)}
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse(path: Path, text: str) -> Mapping:
    """Return the mapping at the top of the one document in `text`. Raises `ConfigError` with `path` and the line."""
    try:
        return _Builder(path, text).build()
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(path, text, error) from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else 1
        reason = getattr(error, "reason", "") or "not readable as YAML"
        raise ConfigError(f"{path}:{line}: YAML syntax: {reason}", hint="remove the control character") from None


def _syntax_error(path: Path, text: str, error: yaml.MarkedYAMLError) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark is not None else 1
    lines = text.splitlines()
    written = lines[line - 1] if line <= len(lines) else ""
    hint = "check the indentation and the quotes around here"
    if "\t" in written[: len(written) - len(written.lstrip())]:
        hint = "indent with spaces, never with tabs"
    elif "${" in written:
        hint = 'inside { } and [ ] a reference must be quoted: "${env:NAME}"'
    elif "{" in written:
        hint = 'a value that begins with { must be quoted, such as prefix: "{export}/"'
    elif "*" in written or "alias" in (error.problem or ""):
        hint = "define the anchor (&name) before its alias (*name), or quote a value that begins with *"
    problem = (error.problem or error.context or "not readable as YAML").replace("'", "`")
    return ConfigError(f"{path}:{line}: YAML syntax: {problem}", hint=hint)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


class _Builder:
    """Turns events into nodes; recursion ends at `MAX_DEPTH`."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.next: Callable[[], Any] = _LOADER(text).get_event
        self.anchors: dict[str, Node | None] = {}

    def build(self) -> Mapping:
        self.next()
        start = self.next()
        if isinstance(start, yaml.StreamEndEvent):
            raise ConfigError(f"{self.path}:1: the file holds only comments", hint="write a config with `rivet init`")
        root = self.node(self.next(), 0)
        self.next()
        following = self.next()
        if isinstance(following, yaml.DocumentStartEvent):
            raise self.error(following, "a second document begins here", "keep one document in the file: remove the line `---`")
        if not isinstance(root, Mapping):
            raise ConfigError(
                f"{self.path}:{root.line}: the config is not a mapping", hint="begin with keys such as `source:` and `exports:`"
            )
        if root.size > MAX_NODES:
            raise ConfigError(
                f"{self.path}:{root.line}: aliases expand to more than {MAX_NODES:,} values", hint="nest fewer aliases"
            )
        return root

    def error(self, event: Any, what: str, hint: str) -> ConfigError:
        return ConfigError(f"{self.path}:{_line(event)}: {one_line(what)}", hint=one_line(hint))

    def too_deep(self, event: Any) -> ConfigError:
        return self.error(event, f"nested deeper than {MAX_DEPTH} levels", "a config needs far fewer")

    def node(self, event: Any, depth: int) -> Node:
        kind = type(event)
        if kind is yaml.AliasEvent:
            return self.alias(event)
        if event.anchor:
            self.anchors[event.anchor] = None
        node: Node
        if kind is yaml.ScalarEvent:
            node = self.scalar(event)
        elif depth >= MAX_DEPTH:
            raise self.too_deep(event)
        elif kind is yaml.SequenceStartEvent:
            self.check_tag(event, "seq")
            node = self.sequence(event, depth)
        else:
            self.check_tag(event, "map")
            node = self.mapping(event, depth)
        if node.height > MAX_DEPTH:  # by aliases of aliases
            raise self.too_deep(event)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def alias(self, event: Any) -> Node:
        name = event.anchor
        if name not in self.anchors:
            raise self.error(event, f"alias *{name} has no anchor", f"define &{name} before it, or quote the value")
        node = self.anchors[name]
        if node is None:
            raise self.error(event, f"alias *{name} stands inside its own anchor", "a value cannot contain itself")
        return node

    def check_tag(self, event: Any, kind: str) -> None:
        if event.tag and event.tag != "!" and _TAGS.get(event.tag) != kind:
            raise self.error(event, f"tag {event.tag} is not supported here", "remove the tag; write plain YAML")

    def scalar(self, event: Any) -> Scalar:
        line, text, tag = _line(event), event.value, event.tag
        if tag is None:
            plain = bool(event.implicit[0])
            return Scalar(line, read_plain(text) if plain else text, text, plain)
        kind = _TAGS.get(tag, "")
        if kind == "str" or tag == "!":
            return Scalar(line, text, text, False)
        value = read_plain(text)
        if kind == "float" and type(value) is int:
            value = float(value)
        if type(value) is not _TYPES.get(kind):
            raise self.error(event, f"tag {tag} is not supported here", "remove the tag; quote the value if it is text")
        return Scalar(line, value, text, False)

    def sequence(self, start: Any, depth: int) -> Sequence:
        items: list[Node] = []
        while type(event := self.next()) is not yaml.SequenceEndEvent:
            items.append(self.node(event, depth + 1))
        return Sequence(_line(start), tuple(items), *extent(items))

    def mapping(self, start: Any, depth: int) -> Mapping:
        entries: dict[str, Node] = {}
        lines: dict[str, int] = {}
        merges: list[Mapping] = []
        merge_line = 0
        event: Any
        while type(event := self.next()) is not yaml.MappingEndEvent:
            if type(event) is not yaml.ScalarEvent:
                raise self.error(event, "a key is not plain text", 'quote what begins with {, [ or *, such as "{export}"')
            key, line = str(event.value), _line(event)
            value = self.node(self.next(), depth + 1)
            if key == "<<" and event.implicit[0]:
                if merge_line:
                    raise self.error(
                        event, f"duplicate key `<<` (first on line {merge_line})", "merge several: <<: [*one, *two]"
                    )
                merge_line, merges = line, self.merged(event, value)
            elif key in entries:
                raise self.error(event, f"duplicate key `{key}` (first on line {lines[key]})", "keep one of the two lines")
            else:
                entries[key], lines[key] = value, line
        for source in merges:
            for key, value in source.entries.items():
                if key not in entries:
                    entries[key], lines[key] = value, source.lines[key]
        return Mapping(_line(start), entries, lines, *extent(entries.values()))

    def merged(self, event: Any, value: Node) -> list[Mapping]:
        sources = list(value.items) if isinstance(value, Sequence) else [value]
        found = [source for source in sources if isinstance(source, Mapping)]
        if len(found) != len(sources):
            raise self.error(event, "`<<` merges only mappings", "write <<: *name, where &name stands on a mapping")
        return found
