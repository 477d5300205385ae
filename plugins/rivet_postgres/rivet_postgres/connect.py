"""Opening connections: the catalog's (psycopg) and the reader's (ADBC), both from one libpq string."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rivet_core.errors import ConfigError
from rivet_core.sql.endpoint import Endpoint
from rivet_postgres.failures import translate

if TYPE_CHECKING:
    import psycopg

CONNECT_TIMEOUT_SECONDS = "15"
_TLS_FILES = (("sslrootcert", "ca_file"), ("sslcert", "cert_file"), ("sslkey", "key_file"))


def conninfo(endpoint: Endpoint) -> str:
    """Return libpq's `key=value` string; it holds the password, so it is never shown.

    `client_encoding` is pinned; nothing else is set at start-up, since poolers refuse or leak it.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import make_conninfo

    values: dict[str, Any] = {"connect_timeout": CONNECT_TIMEOUT_SECONDS, "client_encoding": "UTF8", **endpoint.parameters}
    values |= {"host": endpoint.host, "port": endpoint.port}
    if endpoint.user:
        values["user"] = endpoint.user
    if endpoint.database:
        values["dbname"] = endpoint.database
    if endpoint.password is not None:
        values["password"] = endpoint.password.reveal()
    if endpoint.tls.mode:
        values["sslmode"] = endpoint.tls.mode
    values |= {key: value for key, name in _TLS_FILES if (value := getattr(endpoint.tls, name))}
    if endpoint.tls.mode in ("verify-ca", "verify-full") and "sslrootcert" not in values:
        if endpoint.tls.mode == "verify-ca":
            raise ConfigError(
                "tls.mode verify-ca needs a certificate to check against", hint="set tls.ca_file, or use verify-full"
            )
        values["sslrootcert"] = "system"
    try:
        return make_conninfo("", **values)
    except ProgrammingError as error:
        raise ConfigError(
            endpoint.clean(f"the connection URL has a parameter libpq does not know: {error}"),
            hint="remove it from the URL's query part",
        ) from None


def open_catalog(endpoint: Endpoint) -> psycopg.Connection[tuple[Any, ...]]:
    """Open the connection for catalog statements. Autocommit: every transaction is begun and ended in so many words."""
    import psycopg

    try:
        return psycopg.connect(conninfo(endpoint), autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise translate(error, endpoint, f"cannot connect to {endpoint.address}") from None


class Readers:
    """Opens ADBC connections of one session over one ADBC database.

    A database asks the server for its types on a connection of its own when it is made; sharing it keeps that to one.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._database: Any = None
        self._lock = threading.Lock()

    def open(self) -> Any:
        """Return an `adbc_driver_manager.dbapi.Connection`, idle outside a transaction."""
        import adbc_driver_manager
        import adbc_driver_postgresql
        from adbc_driver_manager import dbapi

        try:
            with self._lock:
                if self._database is None:
                    self._database = adbc_driver_postgresql.connect(conninfo(self._endpoint))
            connection = adbc_driver_manager.AdbcConnection(self._database)
            shared: Any = _Shared(self._database)
            return dbapi.Connection(shared, connection, autocommit=True)
        except adbc_driver_manager.Error as error:
            raise translate(error, self._endpoint, f"cannot connect to {self._endpoint.address}") from None

    def close(self) -> None:
        """Let the database go; its connections are closed before."""
        with self._lock:
            database, self._database = self._database, None
            if database is not None:
                with suppress(Exception):
                    database.close()


class _Shared:
    """The database as one connection sees it: closing the connection leaves it open."""

    def __init__(self, database: Any) -> None:
        self._database = database

    def close(self) -> None:
        """Leave it to `Readers.close`."""
