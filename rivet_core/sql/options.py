"""The keys every SQL source has in the config, and how they become one endpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, ValidationInfo, model_validator

from rivet_core.errors import ConfigError
from rivet_core.options import ConfigPath, PluginOptions
from rivet_core.sql.endpoint import Endpoint, Tls, parse_url
from rivet_core.sql.secrets import Secret


class TlsOptions(BaseModel):
    """`tls:` under a source. Without it a connection is as the URL says, else as the driver's default."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    mode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] = "verify-full"
    ca_file: ConfigPath | None = None
    cert_file: ConfigPath | None = None
    key_file: ConfigPath | None = None
    accept_invalid_certs: bool = False
    accept_invalid_hostnames: bool = False

    def settings(self) -> Tls:
        """Return the plain record that connecting uses; the two dangerous switches lower the mode."""
        mode = self.mode
        if self.accept_invalid_certs and mode in ("verify-ca", "verify-full"):
            mode = "require"
        elif self.accept_invalid_hostnames and mode == "verify-full":
            mode = "verify-ca"
        return Tls(
            mode=mode,
            ca_file=str(self.ca_file or ""),
            cert_file=str(self.cert_file or ""),
            key_file=str(self.key_file or ""),
            accept_invalid_certs=self.accept_invalid_certs,
            accept_invalid_hostnames=self.accept_invalid_hostnames,
        )


class SqlOptions(PluginOptions):
    """How to reach a server: exactly one of `url`, `url_env`, `url_file`, or `host` with its fields.

    Subclasses set `schemes` and `default_port`. Environment variables and files are read by `endpoint()`, not before, so
    that commands that open nothing need none of them.
    """

    schemes: ClassVar[tuple[str, ...]] = ("sql",)
    default_port: ClassVar[int] = 0

    url: SecretStr | None = None
    url_env: str | None = None
    url_file: ConfigPath | None = None
    host: str | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    user: str | None = None
    password: SecretStr | None = None
    password_env: str | None = None
    database: str | None = None
    tls: TlsOptions | None = None
    environment: str | None = None

    _environ: Mapping[str, str] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _one_form(self, info: ValidationInfo) -> Self:
        self._environ = (info.context or {}).get("environ")
        urls = [key for key in ("url", "url_env", "url_file") if getattr(self, key) is not None]
        fields = [
            key for key in ("host", "port", "user", "password", "password_env", "database") if getattr(self, key) is not None
        ]
        if len(urls) > 1:
            raise ValueError(f"{' and '.join(urls)} exclude each other: keep one")
        if urls and fields:
            raise ValueError(f"{urls[0]} and {fields[0]} exclude each other: keep the URL, or the fields")
        if self.password is not None and self.password_env is not None:
            raise ValueError("password and password_env exclude each other: keep password_env")
        if not urls and self.host is None:
            raise ValueError("nothing says where the server is: set url_env, url, url_file, or host, user and database")
        return self

    def endpoint(self, environ: Mapping[str, str] | None = None) -> Endpoint:
        """Return where to connect, references read now. Raises `ConfigError` naming what is unset, never what it holds."""
        env = environ if environ is not None else self._environ if self._environ is not None else os.environ
        tls = self.tls.settings() if self.tls else Tls()
        if (url := self._url(env)) is not None:
            endpoint = parse_url(url, schemes=self.schemes, default_port=self.default_port, tls=tls)
        else:
            endpoint = Endpoint(
                host=self.host or "localhost",
                port=self.port or self.default_port,
                user=self.user or "",
                password=self._password(env),
                database=self.database or "",
                tls=tls,
            )
        if endpoint.is_socket and tls.mode in ("require", "verify-ca", "verify-full"):
            raise ConfigError(
                f"tls.mode {tls.mode} cannot be kept over the unix socket {endpoint.host}",
                hint="a socket has no TLS: leave out `tls`, or connect to a host name",
            )
        return endpoint

    def _url(self, env: Mapping[str, str]) -> str | None:
        if self.url is not None:
            return self.url.get_secret_value()
        if self.url_env is not None:
            return _variable(env, self.url_env, "url_env")
        if self.url_file is not None:
            try:
                return self.url_file.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "not text"
                raise ConfigError(
                    f"url_file {self.url_file} cannot be read: {reason}", hint="check the path and its rights"
                ) from None
        return None

    def _password(self, env: Mapping[str, str]) -> Secret | None:
        if self.password is not None:
            return Secret(self.password.get_secret_value())
        if self.password_env is not None:
            return Secret(_variable(env, self.password_env, "password_env"))
        return None


def _variable(env: Mapping[str, str], name: str, key: str) -> str:
    value = env.get(name)
    if not value:
        raise ConfigError(f"the environment variable {name} ({key}) is not set", hint=f"export {name}=... before the command")
    return value
