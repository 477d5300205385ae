"""The keys of a source of `type: sqlite`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self
from urllib.parse import unquote

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from rivet_core.errors import ConfigError
from rivet_core.options import ConfigPath, PluginOptions

_SCHEME = "sqlite:///"


class SqliteOptions(PluginOptions):
    """Where the database file is: exactly one of `path`, `url`, `url_env`, `url_file`.

    A URL is `sqlite:///relative.db` or `sqlite:////absolute.db`; relative ones are relative to the config file. The file
    is opened read-only and never created.
    """

    path: ConfigPath | None = Field(default=None, description="the database file, relative to the config file")
    url: str | None = Field(default=None, description="sqlite:///relative.db or sqlite:////absolute.db")
    url_env: str | None = Field(default=None, description="environment variable that holds the URL")
    url_file: ConfigPath | None = Field(default=None, description="file that holds the URL")
    environment: str | None = Field(default=None, description="what the database is for; shown, not used")

    _environ: Mapping[str, str] | None = PrivateAttr(default=None)
    _base: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _one_place(self, info: ValidationInfo) -> Self:
        context = info.context or {}
        self._environ = context.get("environ")
        self._base = Path(context.get("base", "."))
        given = [key for key in ("path", "url", "url_env", "url_file") if getattr(self, key) is not None]
        if len(given) != 1:
            told = (
                f"{' and '.join(given)} exclude each other: keep one"
                if given
                else "nothing says where the database is: set path"
            )
            raise ValueError(told)
        if self.url is not None:
            _path_in(self.url)
        return self

    def database(self, environ: Mapping[str, str] | None = None) -> Path:
        """Return the absolute path of the database file. Raises `ConfigError` for an unset variable or a wrong URL."""
        if self.path is not None:
            return self.path
        try:
            named = _path_in(self._written_url(environ))
        except ValueError as error:
            raise ConfigError(str(error), hint=f"write {_SCHEME}shop.db, or use `path: shop.db`") from None
        return Path(os.path.abspath(self._base / Path(named).expanduser()))  # noqa: PTH100 - as in ConfigPath

    def _written_url(self, environ: Mapping[str, str] | None) -> str:
        if self.url is not None:
            return self.url
        if self.url_env is not None:
            variables = environ if environ is not None else self._environ if self._environ is not None else os.environ
            if not (value := variables.get(self.url_env)):
                raise ConfigError(
                    f"the environment variable {self.url_env} (url_env) is not set",
                    hint=f"export {self.url_env}=... before the command",
                )
            return value
        assert self.url_file is not None  # noqa: S101 - the validator saw that exactly one is set
        try:
            return self.url_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not text"
            raise ConfigError(
                f"url_file {self.url_file} cannot be read: {reason}", hint="check the path and its rights"
            ) from None


def _path_in(url: str) -> str:
    """Return the path in a URL. Raises `ValueError` when it is not an SQLite URL of a file."""
    if not url.startswith(_SCHEME) or url in (_SCHEME, f"{_SCHEME}:memory:"):
        raise ValueError(f"an SQLite URL is {_SCHEME}relative.db or {_SCHEME}/absolute.db, and names a file")
    path, question, _ = url.removeprefix(_SCHEME).partition("?")
    if question:
        raise ValueError("an SQLite URL takes no parameters: the file is always opened read-only")
    return unquote(path)
