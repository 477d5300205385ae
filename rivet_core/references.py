"""References in config values: `${env:NAME}`, `${file:path}` and `${NAME}`, expanded once and only where needed.

A secret stands in a config as a reference, and in the plan as the same reference; it is resolved by the command that opens
what it names. `$${` is a literal `${`. What a reference expands to is never looked at again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from rivet_core.errors import ConfigError
from rivet_core.facts import Json

MAX_FILE_BYTES = 1 << 20
"""A referenced file holds one value; a larger one is a mistake."""

_STATE_SERVERS = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
_TOKEN = re.compile(r"\$\$\{|\$\{(?P<body>[^{}]*)\}|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_URL_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://(?P<user>[^/@:]*):(?P<password>.*)@")
_KEYWORD_PASSWORD = re.compile(
    r"(?:^|[\s?&;])(?:password|passwd|pwd|sslpassword|secret|token)\s*=\s*(?P<password>'[^']*'|[^\s&;]*)", re.IGNORECASE
)
_SECRET_KEY = re.compile(
    r"password|passwd|passphrase|secret|token|credential|private_key|account_key|api[_-]?key|encryption_key|access_key|connection_string"
    r"|authorization|bearer|(?:^|_)(?:pwd|pass|sas)(?:$|_)|^(?:basic_|proxy_|http_)?auth\Z",
    re.IGNORECASE,
)
_NOT_SECRET_KEY = re.compile(r"_(?:env|file|path|id|name|url)\Z", re.IGNORECASE)


def resolve(value: Json, *, base: Path, environ: Mapping[str, str] | None = None) -> Json:
    """Return `value` with every reference in its strings expanded; keys of mappings are left alone.

    Relative file paths are relative to `base`. Raises `ConfigError` naming an unset variable, an unreadable file or a
    reference that is not well formed; the error never shows what other references expand to.
    """
    variables = os.environ if environ is None else environ
    if isinstance(value, str):
        return resolve_text(value, base=base, environ=variables)
    if isinstance(value, list):
        return [resolve(item, base=base, environ=variables) for item in value]
    if isinstance(value, dict):
        return {key: resolve(item, base=base, environ=variables) for key, item in value.items()}
    return value


def resolve_text(text: str, *, base: Path, environ: Mapping[str, str] | None = None) -> str:
    """Return `text` with every reference expanded, once. Errors as for `resolve`."""
    if "${" not in text:
        return text
    variables = os.environ if environ is None else environ

    def expand(match: re.Match[str]) -> str:
        if match.group() == "$${":
            return "${"
        return _look_up(match.group(), match.group("body"), base, variables)

    return _TOKEN.sub(expand, text)


def holds_reference(value: Json) -> bool:
    """Say whether any string in `value` holds a reference."""
    if isinstance(value, str):
        return "${" in value and any(match.group() != "$${" for match in _TOKEN.finditer(value))
    if isinstance(value, list):
        return any(holds_reference(item) for item in value)
    if isinstance(value, dict):
        return any(holds_reference(item) for item in value.values())
    return False


def locate_state(url: str, base: Path) -> str:
    """Return a state URL whose SQLite path is absolute; one that holds references is returned as it is.

    `sqlite:///rel/state.db` is relative to `base`, the config file's directory. Raises `ConfigError` for another kind of URL
    and for a database in memory, which would forget every cursor.
    """
    if holds_reference(url):
        return url
    scheme, separator, rest = url.partition("://")
    if separator and scheme in _STATE_SERVERS:
        return url
    if not separator or scheme != "sqlite":
        raise ConfigError("must be `sqlite:///PATH` or `postgresql://...`", hint="for example sqlite:///.rivet/state.db")
    path = rest.removeprefix("/")
    if not rest.startswith("/") or not path or path == ":memory:":
        raise ConfigError("names no file", hint="write sqlite:///.rivet/state.db, with three slashes")
    if "?" in path:
        raise ConfigError("takes no parameters for an SQLite file", hint="leave out what begins with `?`")
    return f"sqlite:///{os.path.abspath(base / path)}"  # noqa: PTH100


def find_inline_credentials(options: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the key paths (`url`, `tls.key_password`) in `options` whose value is a credential and not a reference.

    A list that holds one is returned as a whole. Looks at URLs and keyword strings that carry a password, and at keys
    whose name says that they hold a secret. The plan stores where such a value stands, never the value.
    """
    return tuple(_inline(options, ""))


def _inline(options: Mapping[str, Json], prefix: str) -> list[str]:
    found: list[str] = []
    for key, value in options.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            found += _inline(value, f"{path}.")
        elif isinstance(value, list):
            if any(_inline({key: item}, "") for item in value):
                found.append(path)
        elif _is_secret(key, value):
            found.append(path)
    return found


def _is_secret(key: str, value: Json) -> bool:
    if isinstance(value, str):
        return bool(value) and _carries_secret(key, value)
    return isinstance(value, int | float) and not isinstance(value, bool) and _names_secret(key)


def _names_secret(key: str) -> bool:
    return bool(_SECRET_KEY.search(key)) and not _NOT_SECRET_KEY.search(key)


def _carries_secret(key: str, value: str) -> bool:
    if _names_secret(key):
        return not holds_reference(value)
    for pattern in (_URL_PASSWORD, _KEYWORD_PASSWORD):
        for match in pattern.finditer(value):
            password = match.group("password")
            if unquote(password).strip("'") and not holds_reference(password):
                return True
    return False


def _look_up(written: str, body: str | None, base: Path, environ: Mapping[str, str]) -> str:
    if body is None:
        raise ConfigError("a reference `${` has no closing `}`", hint="close it, or write `$${` for a literal `${`")
    written = "".join(char if char.isprintable() else "?" for char in written)
    kind, colon, rest = body.partition(":")
    if not colon:
        kind, rest = "env", body
    if kind == "env" and _NAME.match(rest):
        found = environ.get(rest)
        if found is None:
            raise ConfigError(
                f"environment variable {rest} is not set (referenced as {written})", hint=f"set it: export {rest}=..."
            )
        return found
    if kind == "file" and rest.strip():
        return _read_value(rest, written, base)
    raise ConfigError(
        f"{written} is not a reference",
        hint="references are ${env:NAME}, ${file:path} and ${NAME}; write `$${` for a literal `${`",
    )


def _read_value(name: str, written: str, base: Path) -> str:
    try:
        path = base / Path(name).expanduser()
        if path.is_dir():
            raise IsADirectoryError(21, "is a directory")
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"cannot read file {name} (referenced as {written}): {reason.lower()}",
            hint="relative paths are relative to the config file",
        ) from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(
            f"file {name} (referenced as {written}) is larger than 1 MiB",
            hint="the file should hold one value and nothing else",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"file {name} (referenced as {written}) is not UTF-8 text", hint="save it as UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")
