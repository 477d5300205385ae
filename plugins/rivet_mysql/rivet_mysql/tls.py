"""The TLS modes of libpq, kept exactly: what was asked for happens, or the connection fails."""

from __future__ import annotations

import ssl
from typing import Any

from rivet_core.errors import ConfigError
from rivet_core.sql.endpoint import Tls


def driver_arguments(tls: Tls) -> dict[str, Any]:
    """Return PyMySQL's arguments for `tls`. Without a mode the connection is plain, as the Rust tool has it.

    Raises `ConfigError` when a certificate file cannot be used.
    """
    if tls.mode in ("", "disable", "allow"):
        return {"ssl_disabled": True}
    if tls.mode == "prefer" and not (tls.ca_file or tls.cert_file):
        return {}  # PyMySQL's own default: TLS when the server has it, nothing verified
    context = ssl.create_default_context()
    if tls.mode in ("prefer", "require"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif tls.mode == "verify-ca":
        context.check_hostname = False
    try:
        if tls.ca_file:
            context.load_verify_locations(cafile=tls.ca_file)
        if tls.cert_file:
            context.load_cert_chain(tls.cert_file, tls.key_file or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"a TLS file cannot be used: {getattr(error, 'strerror', None) or error}",
            hint="check tls.ca_file, cert_file, key_file",
        ) from None
    return {"ssl": context}


def is_protected(sock: object) -> bool:
    """Whether the connection's socket is encrypted."""
    return isinstance(sock, ssl.SSLSocket)
