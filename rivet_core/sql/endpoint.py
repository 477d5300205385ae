"""Where a server is and who connects: the one form that every way of writing it in the config ends in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from rivet_core.errors import ConfigError
from rivet_core.sql.secrets import Secret, mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Transport security. `mode` as libpq's sslmode, empty when nobody said; files are absolute paths."""

    mode: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    accept_invalid_certs: bool = False
    accept_invalid_hostnames: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One server, decoded: `host` is a name, an address, or the absolute path of a socket (or its directory).

    `parameters` are the query keys of the URL as given; the driver's own room says which of them it knows.
    """

    host: str
    port: int
    user: str = ""
    password: Secret | None = None
    database: str = ""
    tls: Tls = field(default_factory=Tls)
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_socket(self) -> bool:
        """Whether the connection stays on this machine over a unix socket."""
        return self.host.startswith(("/", "@"))

    @property
    def address(self) -> str:
        """What the implicit source group is named after: `host:port`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def clean(self, text: str) -> str:
        """Return `text` without the password in any of its forms, to put into a message."""
        return mask(text, (self.password,))


def parse_url(url: str, *, schemes: tuple[str, ...], default_port: int, tls: Tls) -> Endpoint:
    """Read a connection URL; every component is percent-decoded, none is shown in an error.

    Unix sockets: `postgresql://u@/db?host=/dir`, `postgresql://u@%2Fdir/db`, `mysql://u@/db?socket=/path`.
    Raises `ConfigError` for another scheme, a port that is no number, and several hosts.
    """
    scheme, found, rest = url.strip().partition("://")
    if not found or scheme.lower() not in schemes:
        shown = f"the scheme {scheme!r}" if found and scheme.isalnum() else "no scheme"
        raise ConfigError(
            f"the connection URL has {shown}", hint=f"write it as {schemes[0]}://user@host:{default_port}/database"
        )
    rest, _, _ = rest.partition("#")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    userinfo, at, location = authority.rpartition("@")
    user, colon, password = userinfo.partition(":")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    host, port = _location(location, default_port)
    host = parameters.pop("host", "") or parameters.pop("socket", "") or parameters.pop("unix_socket", "") or unquote(host)
    if "port" in parameters:
        port = _port(parameters.pop("port"))
    if "," in host:
        raise ConfigError("the connection URL names several hosts", hint="name one host; a second server is a second source")
    secret = parameters.pop("password", "") or (unquote(password) if at and colon else "")
    return Endpoint(
        host=host or "localhost",
        port=port,
        user=parameters.pop("user", "") or unquote(user if at else ""),
        password=Secret(secret) if secret else None,
        database=parameters.pop("dbname", "") or unquote(path),
        tls=tls,
        parameters=parameters,
    )


def _location(location: str, default_port: int) -> tuple[str, int]:
    if location.startswith("["):
        host, _, port = location[1:].partition("]")
        return host, _port(port.removeprefix(":")) if port else default_port
    host, colon, port = location.partition(":")
    return host, _port(port) if colon and port else default_port


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        # A password with an unescaped `@`, `/` or `:` ends up here: never show the text.
        raise ConfigError(
            "the connection URL has a port that is no number from 1 to 65535",
            hint="percent-encode special characters in the user and the password (`@` is %40, `:` is %3A, `/` is %2F)",
        )
    return int(text)
