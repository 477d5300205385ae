"""A lock object for stores that cannot replace a key under a condition.

It narrows the window in which two writers from two state databases could both replace `current.json`; writers that share a
state database are already kept apart by their lease. A lock older than `STALE` seconds belongs to a process that died.
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

from rivet_core.errors import BusyError

if TYPE_CHECKING:
    from rivet_core.stores.objects import ObjectStore

STALE = 60.0
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
    if found is None or json.loads(found.data).get("owner") != mine["owner"]:
        raise _busy(store, key, found.data if found else b"{}")
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            store.delete([key])


def _refuse_foreign(store: ObjectStore, key: str) -> None:
    found = store.current(key)
    if found is None:
        return
    with contextlib.suppress(ValueError, TypeError, KeyError):
        if time.time() - float(json.loads(found.data)["at"]) < STALE:
            raise _busy(store, key, found.data)


def _busy(store: ObjectStore, key: str, data: bytes) -> BusyError:
    holder = "another run"
    with contextlib.suppress(ValueError, TypeError, KeyError):
        lock = json.loads(data)
        holder = f"process {lock['pid']} on {lock['host']}"
    return BusyError(
        f"{store.url(key)} is held by {holder}", hint="wait until it has finished, then start again", code="locked"
    )
