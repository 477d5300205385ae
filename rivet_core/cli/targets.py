"""What a command writes is never what it reads: one check for every option that names a file to write."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rivet_core.errors import ConfigError, RivetError

if TYPE_CHECKING:
    from rivet_core.artifact import Plan
    from rivet_core.config import CampaignConfig

CONFIG = "the config"
_PLAN = b'{"as_of":'
_REFERENCE = re.compile(r"\$\{file:([^{}]*)\}")
_SQLITE = "sqlite:///"
_BESIDE = ("", "-wal", "-shm", "-journal")
_MAGIC = (b"SQLite format 3\0", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
"""How a database, its write-ahead log and its rollback journal begin."""


def refuse_inputs(target: Path, inputs: Mapping[str, Path]) -> None:
    """Raise `ConfigError` when `target` is one of `inputs` (what it is, where it is), by whatever link.

    So are a file that the config among them names, such as a query or a password, and any SQLite database. A device or a
    pipe is nobody's input.
    """
    refuse_same(target, inputs)
    if CONFIG in inputs and _is_named_in(inputs[CONFIG], target):
        raise _overwritten(target, "a file that the config reads")
    if _is_database(target):
        raise _overwritten(target, "an SQLite database")


def refuse_same(target: Path, inputs: Mapping[str, Path]) -> None:
    """Raise `ConfigError` when `target` is one of `inputs`, by whatever link."""
    for what, path in inputs.items():
        if _same(target, path):
            raise _overwritten(target, what)


def _overwritten(target: Path, what: str) -> ConfigError:
    return ConfigError(f"{target} is {what}, which would be overwritten", hint="name another file to write", code="usage")


def inputs_of_plan(plan: Plan) -> dict[str, Path]:
    """Return what a plan was made from and runs with: the config, and the files of the state."""
    config = Path(plan.config.path)
    return {CONFIG: config, **_state_files(plan.state.url, config.parent)}


def inputs_of_config(config: CampaignConfig) -> dict[str, Path]:
    """Return the config and the files of its state."""
    return {CONFIG: config.path, **_state_files(config.state_url, config.base)}


def sqlite_file(url: object, base: Path) -> Path | None:
    """Return the file that an SQLite URL names, references in it resolved; `None` for any other."""
    from rivet_core.references import resolve_text

    found = ""
    with contextlib.suppress(RivetError):  # What does not resolve is told by whoever opens it.
        found = resolve_text(url, base=base) if isinstance(url, str) else ""
    return base / found.removeprefix(_SQLITE).partition("?")[0] if found.startswith(_SQLITE) else None


def _state_files(url: object, base: Path) -> dict[str, Path]:
    file = sqlite_file(url, base)
    if file is None:
        return {}
    return {f"the state database{f' ({ending[1:]})' if ending else ''}": Path(f"{file}{ending}") for ending in _BESIDE}


def _same(target: Path, other: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        if target.exists() and not target.is_file():
            return False
        return os.path.realpath(target) == os.path.realpath(other) or (other.exists() and target.samefile(other))
    return False


def _is_named_in(config: Path, target: Path) -> bool:
    """Whether the config names the file; it is read again only where something is there that is no earlier plan."""
    from rivet_core.config.document import read_document
    from rivet_core.config.nodes import plain_data

    if _begins(target).startswith(_PLAN) or not target.is_file():
        return False
    with contextlib.suppress(ConfigError):
        return any(_same(target, config.parent / name) for name in _names(plain_data(read_document(config).root)))
    return False


def _names(value: object) -> Iterator[str]:
    """Yield every text that may be the name of a file."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _names(item)
    elif isinstance(value, str) and value:
        yield from (_REFERENCE.findall(value) or [value])


def _is_database(target: Path) -> bool:
    return _begins(target).startswith(_MAGIC)


def _begins(target: Path) -> bytes:
    with contextlib.suppress(OSError, ValueError):
        if target.is_file():
            with target.open("rb") as file:
                return file.read(16)
    return b""
