"""From the parsed file to plain data: empty values refused, references expanded where the value is needed at load.

Sources, destinations and the state keep their references: only the command that opens them resolves them. Queries pass
through untouched.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rivet_core.config.document import Document
from rivet_core.config.foreign import REFUSED_MODES
from rivet_core.config.model import SourceModel
from rivet_core.config.nodes import Location, Node, Scalar, Sequence
from rivet_core.config.nodes import Mapping as MappingNode
from rivet_core.config.scalars import read_plain
from rivet_core.errors import ConfigError
from rivet_core.facts import Json
from rivet_core.references import resolve_text

EXTENSION = "x-"
"""Keys that begin so are the user's own, at the top level and in exports: a place for anchors and notes."""


def read_values(document: Document, base: Path, environ: Mapping[str, str]) -> dict[str, Json]:
    """Return the config as plain data.

    Raises `ConfigError` for an empty value, a reference that does not resolve, or a mode that is not here.
    """
    reader = _Reader(document, base, environ)
    data: dict[str, Json] = {}
    for key, node in document.root.entries.items():
        if not key.startswith(EXTENSION):
            data[key] = reader.section(key, node)
    return data


class _Reader:
    def __init__(self, document: Document, base: Path, environ: Mapping[str, str]) -> None:
        self.document = document
        self.base = base
        self.environ = environ

    def section(self, key: str, node: Node) -> Json:
        location: Location = (key,)
        if key == "exports" and isinstance(node, Sequence):
            return [self.export((*location, index), item) for index, item in enumerate(node.items)]
        if key == "source":
            return self.source(location, node)
        if key == "sources" and isinstance(node, MappingNode):
            return {name: self.source((*location, name), item) for name, item in node.entries.items()}
        if key == "defaults":
            self.check_mode(location, node)
        return self.value(location, node, expand=key not in {"destination", "state"})

    def export(self, location: Location, node: Node) -> Json:
        if not isinstance(node, MappingNode):
            return self.value(location, node, expand=True)
        self.check_mode(location, node)
        return {
            key: self.value((*location, key), item, expand=key not in {"destination", "query"})
            for key, item in node.entries.items()
            if not key.startswith(EXTENSION)
        }

    def source(self, location: Location, node: Node) -> Json:
        if not isinstance(node, MappingNode):
            return self.value(location, node, expand=False)
        own = SourceModel.model_fields
        return {key: self.value((*location, key), item, expand=key in own) for key, item in node.entries.items()}

    def check_mode(self, location: Location, node: Node) -> None:
        mode = node.entries.get("mode") if isinstance(node, MappingNode) else None
        if isinstance(mode, Scalar) and isinstance(mode.value, str) and mode.value in REFUSED_MODES:
            raise self.document.error(
                (*location, "mode"), f"mode {mode.value} of the Rust tool is not in this rivet", hint=REFUSED_MODES[mode.value]
            )

    def value(self, location: Location, node: Node, *, expand: bool) -> Json:
        if isinstance(node, Scalar):
            if node.empty:
                raise self.empty(location)
            if expand and isinstance(node.value, str) and "${" in node.value:
                return self.expanded(location, node, node.value)
            if isinstance(node.value, float) and node.value - node.value != 0:
                raise self.document.error(
                    location, f"must be a finite number, not {node.text}", hint="put quotes around it if it is text"
                )
            return node.value
        if isinstance(node, Sequence):
            return [self.value((*location, index), item, expand=expand) for index, item in enumerate(node.items)]
        return {key: self.value((*location, key), item, expand=expand) for key, item in node.entries.items()}

    def expanded(self, location: Location, node: Scalar, text: str) -> Json:
        try:
            found = resolve_text(text, base=self.base, environ=self.environ)
        except ConfigError as error:
            raise self.document.error(location, error.message, hint=error.hint) from None
        # `workers: ${WORKERS}` means the number when it stands alone and unquoted, as if it had been written there.
        whole = node.plain and text.startswith("${") and text.find("}") == len(text) - 1
        value = read_plain(found) if whole and found else found
        return found if isinstance(value, float) and value - value != 0 else value

    def empty(self, location: Location) -> ConfigError:
        name = location[-1]
        if isinstance(name, int):
            return self.document.error(location, "is an empty entry", hint="write a value after `- `, or remove the line")
        return self.document.error(location, "is empty", hint=f"write a value after `{name}:`, or remove the line")
