"""A lock object for stores that cannot replace a key under a condition.

It narrows the window in which two writers from two state databases could both replace `current.json`; writers that share a
state database are already kept apart by their lease. A lock is that of a process that died when it is older than `STALE`
seconds by the store's own clock (those of two hosts may be far apart), or when this host no longer has that process.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rivet_core.errors import BusyError, DestinationError

if TYPE_CHECKING:
    from rivet_core.stores.objects import ObjectStore

STALE = 60.0
"""Seconds. Whoever holds the lock does one small put meanwhile, with its retries."""
SETTLE = 0.05
"""Seconds between writing the lock and reading it back: the later of two writers wins, the earlier one sees it."""


@contextlib.contextmanager
def guarded(store: ObjectStore, key: str) -> Iterator[None]:
    """Hold the lock object `key` while the body runs. Raises `BusyError` naming the holder."""
    mine = {"owner": uuid.uuid4().hex, "host": socket.gethostname(), "pid": os.getpid(), "at": time.time()}
    _refuse_foreign(store, key)
    store.put(key, json.dumps(mine).encode())
    time.sleep(SETTLE)
    found = store.current(key)
    if found is None or _owner(store, key, found.data) != mine["owner"]:
        raise _busy(store, key, found.data if found else b"{}")
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            store.delete([key])


def _owner(store: ObjectStore, key: str, data: bytes) -> object:
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return json.loads(data)["owner"]
    raise DestinationError(
        f"{store.url(key)} does not read back as it was written", hint="rivet doctor says what the store does not keep"
    )


def _refuse_foreign(store: ObjectStore, key: str) -> None:
    found = store.current(key)
    if found is None:
        return
    if not _abandoned(found.data) and _age(store, key, found.data) < STALE:
        raise _busy(store, key, found.data)


def _abandoned(data: bytes) -> bool:
    """Whether the holder was a process of this host that is gone, or nobody that can be made out."""
    try:
        lock = json.loads(data)
        if lock["host"] != socket.gethostname():
            return False
        os.kill(int(lock["pid"]), 0)
    except (ValueError, TypeError, KeyError, ProcessLookupError):
        return True
    except OSError:  # It is somebody else's process, so it lives.
        return False
    return False


def _age(store: ObjectStore, key: str, data: bytes) -> float:
    """Return how many seconds ago the lock was put, by the store's clock where it tells the time of a file."""
    probe = f"{key}.{uuid.uuid4().hex}"
    store.put(probe, b"")
    try:
        now, then = store.modified(probe), store.modified(key)
    finally:
        store.delete([probe])
    if now is not None and then is not None:
        return (now - then).total_seconds()
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return time.time() - float(json.loads(data)["at"])
    return STALE


def _busy(store: ObjectStore, key: str, data: bytes) -> BusyError:
    holder = "another run"
    with contextlib.suppress(ValueError, TypeError, KeyError):
        lock = json.loads(data)
        holder = f"process {lock['pid']} on {lock['host']}"
    return BusyError(
        f"{store.url(key)} is held by {holder}", hint="wait until it has finished, then start again", code="locked"
    )
