"""Where `rivet init` finds the database, and what the config will say about it: a reference, never a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rivet_core.errors import ConfigError, PluginError

if TYPE_CHECKING:
    from rivet_core.plugins import Registry

SQLITE = "sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The source to inspect: `opened` is what opens it now, `written` what stands in the config. `note` is for the user."""

    kind: str
    opened: Mapping[str, str]
    written: Mapping[str, str]
    database: str = ""
    note: str = ""


def read_source(url: str | None, variable: str | None, output: Path, registry: Registry) -> Given:
    """Return the source that the two options name. Raises `ConfigError` for none, both, an unset variable, a foreign URL."""
    if (url is None) == (variable is None):
        raise ConfigError(
            "say where the database is" if url is None else "--source and --source-env exclude each other",
            hint="--source-env DATABASE_URL, or --source postgresql://user@host/database, or --source sqlite:///shop.db",
            code="usage",
        )
    if variable is not None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
            raise ConfigError(
                "--source-env takes the name of a variable",
                hint="--source-env DATABASE_URL; a URL goes with --source",
                code="usage",
            )
        found = os.environ.get(variable)
        if not found:
            raise ConfigError(
                f"the environment variable {variable} is not set", hint=f"export {variable}=... before the command"
            )
        kind = _kind(found, registry)
        database = Path(_database(found)).stem if kind == SQLITE else _database(found)
        return Given(kind=kind, opened={"url_env": variable}, written={"url_env": variable}, database=database)
    assert url is not None  # noqa: S101 - exactly one is set
    if "://" not in url and Path(url).is_file():
        url = f"sqlite:///{Path(url).absolute()}"
    kind = _kind(url, registry)
    if kind == SQLITE:
        return _sqlite(url, output)
    return _server(url, kind)


def _kind(url: str, registry: Registry) -> str:
    scheme = url.strip().partition("://")[0].lower()
    if "://" not in url or not scheme.replace("+", "").isalnum():
        raise ConfigError(
            "the source is not a connection URL",
            hint="write postgresql://user@host/database, mysql://..., or sqlite:///shop.db",
        )
    for name, owned in sorted(registry.sources.items()):
        if scheme in owned.record.schemes:
            return name
    known = ", ".join(sorted({scheme for owned in registry.sources.values() for scheme in owned.record.schemes}))
    try:
        registry.source(scheme)
    except PluginError as error:
        raise PluginError(
            f"no installed plugin reads {scheme}:// sources; installed: {known}", hint=error.hint, code=error.code
        ) from None
    return scheme


def _sqlite(url: str, output: Path) -> Given:
    """A file: the config names it relative to itself, so that both can move together."""
    if not url.startswith("sqlite:///"):
        raise ConfigError(
            "an SQLite URL is sqlite:///relative.db or sqlite:////absolute.db", hint="write --source sqlite:///shop.db"
        )
    path = Path(unquote(url.removeprefix("sqlite:///").partition("?")[0])).expanduser().absolute()
    near = os.path.relpath(path, output.absolute().parent)
    shown = str(path) if near.startswith(os.path.join("..", "..")) else near  # noqa: PTH118 - a text, not a path on disk
    return Given(kind=SQLITE, opened={"path": str(path)}, written={"path": shown}, database=path.stem)


def _server(url: str, kind: str) -> Given:
    from rivet_core.references import find_inline_credentials

    database = _database(url)
    if not find_inline_credentials({"url": url}):
        return Given(kind=kind, opened={"url": url}, written={"url": url}, database=database)
    variable = next((name for name, value in sorted(os.environ.items()) if value == url), None)
    note = ""
    if variable is None:
        variable = f"{re.sub(r'[^A-Za-z0-9]+', '_', database or 'database').strip('_').upper() or 'DATABASE'}_URL"
        variable = variable if not variable[0].isdigit() else f"DB_{variable}"
        note = f"the URL holds a password, so the config refers to it: export {variable}='the same URL' before other commands"
    return Given(kind=kind, opened={"url": url}, written={"url_env": variable}, database=database, note=note)


def _database(url: str) -> str:
    """Return the path of the URL, which names the database: `shop` of `postgresql://u@h/shop?x=y`."""
    path = url.partition("://")[2].partition("?")[0].partition("#")[0].rpartition("@")[2]
    return unquote(path.partition("/")[2])
