"""A config file as a tree of nodes, with the line to name for anything in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rivet_core.config.nodes import Location, Mapping, Node, Sequence, key_path, one_line
from rivet_core.config.parser import parse
from rivet_core.errors import ConfigError

MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its path as the user named it, its bytes, and the mapping at its top."""

    path: Path
    data: bytes = field(repr=False)
    root: Mapping = field(repr=False)

    def find(self, location: Location) -> tuple[Node | None, int]:
        """Return the node at `location` and the line to name for it: of the key, or of the nearest parent that exists."""
        node: Node | None = self.root
        line = self.root.line
        for step in location:
            if isinstance(node, Mapping) and step in node.entries:
                line, node = node.lines[str(step)], node.entries[str(step)]
            elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
                line = node.line
            else:
                return None, line
        return node, line

    def error(self, location: Location, what: str, *, hint: str = "") -> ConfigError:
        """Return an error that begins with `path:line:` and names the key path."""
        return ConfigError(f"{self.place(location)}{one_line(what)}", hint=one_line(hint))

    def place(self, location: Location) -> str:
        """Return `path:line: key.path: `, the beginning of a message about what stands at `location`."""
        _, line = self.find(location)
        name = one_line(key_path(location))
        return f"{self.path}:{line}: {name}: " if name else f"{self.path}:{line}: "


def read_document(path: Path) -> Document:
    """Read and parse a YAML file. Raises `ConfigError` for anything that is not one UTF-8 document with a mapping on top."""
    data = _read_bytes(path)
    return Document(path, data, parse(path, _decode(path, data)))


def _read_bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise ConfigError(
                f"{path}: is a directory, not a config file", hint=f"name the file in it: -c {path / 'rivet.yaml'}"
            )
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such config file", hint="name it with -c PATH, or write one with `rivet init`") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(f"{path}: cannot be read: {reason.lower()}", hint="check the path and its permissions") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: is larger than {MAX_BYTES >> 20} MiB", hint="is this the config file?")
    return data


def _decode(path: Path, data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(f"{path}:1: the file is UTF-16, not UTF-8", hint="save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: the file is not UTF-8", hint="save it as UTF-8") from None
    if not text.strip():
        raise ConfigError(f"{path}:1: the file is empty", hint="write one with `rivet init`, or see `rivet demo`")
    return text
