"""The libpq that psycopg has loaded: where its functions are."""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache

NAMES = ("PQgetCopyData", "PQconsumeInput", "PQsocket", "PQfreemem")


class NoLibpqError(Exception):
    """psycopg runs on an implementation whose libpq cannot be found; the message says which."""


@lru_cache(maxsize=1)
def functions() -> tuple[int, int, int, int]:
    """Return the addresses of `NAMES`. Raises `NoLibpqError`.

    A connection belongs to the very library that made it, and a process may hold several of them; looking a name up through
    psycopg's own extension module finds the one that module is linked to.
    """
    from psycopg import pq

    module = sys.modules[pq.PGconn.__module__]
    path = getattr(module, "__file__", None) or ""
    if pq.__impl__ not in ("binary", "c"):
        raise NoLibpqError(f"psycopg runs on its {pq.__impl__} implementation: install psycopg[binary] or psycopg[c]")
    try:
        library = ctypes.CDLL(path)
        get, consume, socket, release = (ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in NAMES)
        library.PQlibVersion.restype = ctypes.c_int
        version = library.PQlibVersion()
    except (OSError, AttributeError) as error:
        raise NoLibpqError(f"the libpq of psycopg cannot be reached: {error}") from None
    if version != pq.version():
        raise NoLibpqError(f"found libpq {version}, psycopg uses {pq.version()}")
    return get, consume, socket, release
