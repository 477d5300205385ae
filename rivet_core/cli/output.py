"""Where text goes: data on stdout, everything said about it on stderr, colours only for a terminal."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from rivet_core.facts import Json

_data: TextIO | None = None
"""Where data goes while everything else that is printed goes to stderr."""


@contextlib.contextmanager
def data_apart() -> Iterator[None]:
    """Keep stdout for what `Output` prints: whatever a plugin prints meanwhile, on any thread, goes to stderr."""
    global _data
    before, _data = _data, data_stream()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _data = before


def data_stream() -> TextIO:
    """Return the stream that data goes to."""
    return sys.stdout if _data is None else _data


@dataclass(frozen=True, slots=True)
class Output:
    """The three flags that every command takes."""

    machine: bool = False
    verbose: bool = False
    quiet: bool = False

    def data(self, text: str) -> None:
        """Print data on stdout."""
        data_stream().write(text if text.endswith("\n") else text + "\n")

    def bytes(self, raw: bytes) -> None:
        """Write data to stdout byte for byte."""
        stream = data_stream()
        stream.flush()
        stream.buffer.write(raw)
        stream.buffer.flush()

    def json(self, value: Json | object) -> None:
        """Print one JSON document on stdout."""
        self.data(json_text(value))

    def note(self, text: str) -> None:
        """Say something on stderr, unless asked to be quiet."""
        if not self.quiet:
            sys.stderr.write(text if text.endswith("\n") else text + "\n")

    def warn(self, text: str) -> None:
        """Warn on stderr, quiet or not."""
        sys.stderr.write(f"warning: {' '.join(text.split())}\n")


def json_text(value: Json | object) -> str:
    """Return one line of JSON for stdout: characters as they are where stdout is UTF-8, escaped elsewhere."""
    plain = (getattr(data_stream(), "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not plain)


def tolerate_any_text() -> None:
    """Let stdout and stderr escape what their encoding lacks: a foreign name in another locale is no reason to fail.

    In UTF-8 only lone surrogates are escaped, as `\\udXXX`, which keeps JSON valid.
    """
    # A closed descriptor leaves no stream at all; what is said then goes nowhere.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the process ends
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def colours(stream_fd: int) -> bool:
    """Whether to colour what goes to this descriptor: a terminal, no `NO_COLOR`, no dumb terminal."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and os.isatty(stream_fd)


def width() -> int:
    """Columns to print for: `COLUMNS`, or the terminal's, or 0 (as wide as it gets) when stdout is no terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    return os.get_terminal_size(1).columns if os.isatty(1) else 0
