"""The fast engine: connectorx over the binary protocol. It may only see types it reads exactly, and answers of bounded size.

connectorx opens a connection of its own for each statement and hands out the whole answer at once. (Its stream form reads ahead
without a limit, keeps the GIL while it waits, and turns a failed statement into a panic.) So statements are pages, a place in
the pool is held for each, and a panic is an error.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa

from rivet_core.errors import SourceError
from rivet_core.sql.endpoint import Endpoint
from rivet_mysql.faults import source_error

BATCH_ROWS = 65536
LARGE_BYTES = 1 << 20
"""Of one allocation: from here on it is the system's again as soon as it is freed."""
M_MMAP_THRESHOLD = -3
"""glibc's number for it (mallopt(3))."""

_TLS = {
    **dict.fromkeys(("", "disable", "allow"), "disabled"),
    "prefer": "preferred",
    "require": "required",
    "verify-ca": "verify_ca",
    "verify-full": "verify_identity",
}
"""libpq's word -> connectorx's, which it does keep: a server without TLS, or with another certificate, is refused."""


def can_connect(endpoint: Endpoint) -> bool:
    """Whether connectorx can reach this server as safely as PyMySQL does.

    It cannot over a unix socket or with a client certificate, and does not look for the machine's own list of authorities.
    """
    tls = endpoint.tls
    verifies = tls.mode in ("verify-ca", "verify-full")
    return not endpoint.is_socket and tls.mode in _TLS and not tls.cert_file and bool(tls.ca_file or not verifies)


def url_of(endpoint: Endpoint) -> str:
    """Return the URL for connectorx; it never leaves this process."""
    password = f":{quote(endpoint.password.reveal(), safe='')}" if endpoint.password else ""
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    # Without `prefer_socket=false` it leaves the given address for the server's unix socket.
    parameters = {"prefer_socket": "false", "ssl-mode": _TLS[endpoint.tls.mode]}
    if endpoint.tls.ca_file and endpoint.tls.mode in ("verify-ca", "verify-full"):
        parameters["ssl-ca"] = endpoint.tls.ca_file
    place = f"{quote(endpoint.user, safe='')}{password}@{host}:{endpoint.port}/{quote(endpoint.database, safe='')}"
    return f"mysql://{place}?{urlencode(parameters)}"


def read_columnar(
    endpoint: Endpoint, sql: str, wires: Sequence[pa.DataType], settings: Sequence[str], *, most: int | None, doing: str
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one statement, of at most `most` rows.

    Raises `SourceError` for an error, a panic, and types other than the agreed ones.
    """
    os.environ.setdefault("RUST_LOG", "off")  # or its pool writes every failed attempt to stderr
    import connectorx

    _return_what_is_freed()
    names = [str(place) for place in range(len(wires))]
    schema = pa.schema([pa.field(name, wire) for name, wire in zip(names, wires, strict=True)])
    try:
        answer = connectorx.read_sql(
            url_of(endpoint),
            sql,
            return_type="arrow",
            protocol="binary",
            pre_execution_query=["SET NAMES utf8mb4", *settings],
        )
        for batch in answer.to_batches(max_chunksize=min(BATCH_ROWS, most or BATCH_ROWS)):
            if batch.num_rows:
                yield pa.RecordBatch.from_arrays(
                    [_agreed(batch.column(place), wire, doing) for place, wire in enumerate(wires)], schema=schema
                )
    except (GeneratorExit, KeyboardInterrupt, SystemExit, SourceError):
        raise
    except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception
        raise source_error(_told(error), endpoint, doing) from None


@cache
def _return_what_is_freed() -> None:
    """Keep glibc from holding the buffers of past answers.

    Its threshold for large allocations rises with each one that is freed; above it, every thread of the driver would keep an
    arena of its own: 240 MB lay free while pages of 32 MB were read (`tests/system/test_reported_pressure.py`, P04).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


def _agreed(array: pa.Array, wire: pa.DataType, doing: str) -> pa.Array:
    if array.type == wire:
        return array
    similar: Any = (
        (pa.types.is_integer(array.type) and pa.types.is_integer(wire))
        or (pa.types.is_large_binary(array.type) and pa.types.is_binary(wire))
        or (pa.types.is_large_string(array.type) and pa.types.is_string(wire))
        or (pa.types.is_temporal(array.type) and pa.types.is_temporal(wire))
        or pa.types.is_null(array.type)
    )
    if not similar:
        raise SourceError(
            f"{doing}: the driver delivered {array.type} where {wire} was agreed", hint="set `engine: rows`", error_class="data"
        )
    return array.cast(wire)


def _told(error: BaseException) -> BaseException:
    # A panic's class belongs to Rust; only its words are of use.
    return error if isinstance(error, Exception) else RuntimeError(str(error))
