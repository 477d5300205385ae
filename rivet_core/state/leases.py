"""Leases: one run per export at a time, counted slots of a group across processes, and taking over from the dead.

A lease is a row with its owner's host, pid and process start time, and a heartbeat every 5 s. It is stale at once when that
process is gone from this host, else when no heartbeat came for 30 s. Taking a stale lease over names the one it was taken from.
A state that several hosts share tells the time itself: their clocks may differ by more than that.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from rivet_core.errors import BusyError, RivetError
from rivet_core.state.database import Database
from rivet_core.state.models import LEASES

HEARTBEAT_SECONDS = 5.0
STALE_SECONDS = 30.0
BEAT_BUSY_SECONDS = 5.0
"""How long a heartbeat waits for the database: with `HEARTBEAT_SECONDS` a third of `STALE_SECONDS`, so that two may fail."""
POLL_SECONDS = 0.2
RACES = 10
"""How often a lease is tried for while other processes add the same rows to a server's state at the same moment."""
WANTED = "want:"
"""Before the names of leases that say: somebody waits for slots of this resource."""


_FIND = select(LEASES).where(LEASES.c.name.in_(bindparam("names", expanding=True)))
_ADD = insert(LEASES)
_FREE = delete(LEASES).where(LEASES.c.name.in_(bindparam("names", expanding=True)), LEASES.c.owner == bindparam("mine"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lease that is held, with the slots taken along. `taken_from` says whose stale lease it was, empty when it was free."""

    name: str
    names: tuple[str, ...]
    taken_from: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """`count` of the `capacity` equal slots of a resource that processes share (connections or heavy slots of a group)."""

    resource: str
    capacity: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What could not be had, and who has it. `slots` is true when only slots are missing: they come free by themselves."""

    name: str
    holder: str
    slots: bool


def busy(name: str, holder: str, *, hint: str = "try again when it has ended; rivet state show tells what runs") -> BusyError:
    """Return the error of a lease that another run holds. `hint` names an option only where the command has it."""
    return BusyError(
        f"{name.removeprefix('export:')} is in use by another run: {holder}",
        hint=hint,
        code="lease_held",
    )


class Leases:
    """The leases of this process, kept alive by one thread that starts with the first of them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner = uuid.uuid4().hex
        self._host = socket.gethostname()
        self._process_started = process_started(os.getpid())
        self._held: set[str] = set()
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self, name: str, *, wait: float = 0.0) -> Lease:
        """Take a lease, waiting up to `wait` seconds. Raises `BusyError` naming the holder."""
        until = time.monotonic() + wait
        while True:
            found = self.attempt(name)
            if isinstance(found, Lease):
                return found
            if time.monotonic() >= until:
                raise busy(name, found.holder)
            time.sleep(min(POLL_SECONDS, max(0.0, until - time.monotonic())))

    def attempt(self, name: str, slots: Sequence[Slots] = (), *, instead_of: Sequence[Lease] = ()) -> Lease | Refusal:
        """Take a lease and the slots that go with it, all in one transaction or nothing at all.

        `instead_of` are leases to give back in the same transaction, whether or not anything can be taken.
        """
        freed = [one for lease in instead_of for one in lease.names]
        for _ in range(RACES):
            try:
                return self._take(name, slots, freed)
            except RivetError as error:
                # Another process added the same row at this moment: the next look finds it, and what else is free.
                if not isinstance(error.__cause__, IntegrityError):
                    raise
        self._free(freed)
        return Refusal(name=name, holder="processes that were faster", slots=any(pool.count for pool in slots))

    def release(self, lease: Lease) -> None:
        """Give a lease and its slots back."""
        self._free(lease.names)

    def want(self, resource: str) -> Lease | Refusal:
        """Say that this process waits for slots of `resource`; the lease ends when it is released."""
        return self.attempt(f"{WANTED}{resource}|{uuid.uuid4().hex}")

    def wanted(self) -> set[str]:
        """Return the resources of which other live processes wait for slots."""
        query = select(LEASES).where(LEASES.c.name.startswith(WANTED), LEASES.c.owner != self._owner)
        with self._database.reading() as connection:
            now = clock(connection)
            rows = [row for row in connection.execute(query) if not _stale(row, now)]
        return {row.name.removeprefix(WANTED).rpartition("|")[0] for row in rows}

    def lost(self, lease: Lease) -> bool:
        """Whether somebody took the lease over, after this process was asleep for too long."""
        with self._database.reading() as connection:
            owner = connection.execute(select(LEASES.c.owner).where(LEASES.c.name == lease.name)).scalar()
        return owner != self._owner

    def holders(self) -> dict[str, str]:
        """Return every lease's name and holder, stale ones included, for reports."""
        with self._database.reading() as connection:
            return {row.name: _holder(row) for row in connection.execute(select(LEASES).order_by(LEASES.c.name))}

    def close(self) -> None:
        """Release everything and stop the heartbeat. Where that cannot be written it goes stale when the process ends."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        with self._guard:
            held, self._held = self._held, set()
        if held:
            with contextlib.suppress(RivetError), self._database.writing() as connection:
                connection.execute(delete(LEASES).where(LEASES.c.owner == self._owner))

    def _free(self, names: Sequence[str]) -> None:
        with self._guard:
            self._held.difference_update(names)
        with self._database.writing() as connection:
            connection.execute(_FREE, {"names": list(names), "mine": self._owner})

    def _take(self, name: str, slots: Sequence[Slots], freed: list[str]) -> Lease | Refusal:
        pools = [(pool, [f"slot:{pool.resource}:{number}" for number in range(pool.capacity)]) for pool in slots if pool.count]
        names = [name, *(slot for _, pool in pools for slot in pool)]
        with self._guard:
            self._held.difference_update(freed)
        with self._database.writing() as connection:
            if freed:
                connection.execute(_FREE, {"names": freed, "mine": self._owner})
            query = _FIND if connection.dialect.name == "sqlite" else _FIND.with_for_update()
            rows = {row.name: row for row in connection.execute(query, {"names": names})}
            now = clock(connection)
            live = {row.name: row for row in rows.values() if not _stale(row, now)}
            if name in live:
                return Refusal(name=name, holder=_holder(live[name]), slots=False)
            chosen = [name]
            for pool, candidates in pools:
                free = [slot for slot in candidates if slot not in live][: pool.count]
                if len(free) < pool.count:
                    held = next(live[slot] for slot in candidates if slot in live)
                    return Refusal(name=pool.resource, holder=_holder(held), slots=True)
                chosen += free
            self._write(connection, chosen, rows, now)
        self._keep(chosen)
        return Lease(name=name, names=tuple(chosen), taken_from=_holder(rows[name]) if name in rows else "")

    def _write(self, connection: Connection, names: list[str], known: Mapping[str, Any], now: datetime) -> None:
        values = {
            "owner": self._owner,
            "host": self._host,
            "pid": os.getpid(),
            "process_started": self._process_started,
            "acquired_at": now,
            "heartbeat_at": now,
        }
        fresh = [name for name in names if name not in known]
        taken = [name for name in names if name in known]
        if fresh:
            connection.execute(_ADD, [{"name": name, **values} for name in fresh])
        if taken:
            connection.execute(update(LEASES).where(LEASES.c.name.in_(taken)).values(**values))

    def _keep(self, names: list[str]) -> None:
        with self._guard:
            self._held.update(names)
            if self._thread is None:
                self._stop.clear()
                self._thread = threading.Thread(target=self._beat, name="rivet-heartbeat", daemon=True)
                self._thread.start()

    def beat(self) -> None:
        """Say that this process is alive, without queueing behind its other writes."""
        with self._database.writing(busy=BEAT_BUSY_SECONDS) as connection:
            mine = update(LEASES).where(LEASES.c.owner == self._owner)
            connection.execute(mine.values(heartbeat_at=clock(connection)))

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            with contextlib.suppress(RivetError):  # The next beat tries again.
                self.beat()


def clock(connection: Connection) -> datetime:
    """Return the time that everybody who shares the state agrees on: a server's own, for SQLite (one host) this host's."""
    if connection.dialect.name == "postgresql":
        found: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return found.astimezone(UTC)
    return datetime.now(UTC)


def _stale(row: Any, now: datetime) -> bool:
    if row.host == socket.gethostname():
        started = process_started(row.pid)
        if not started or ("unknown" not in (started, row.process_started) and started != row.process_started):
            return True
    age: float = (now - row.heartbeat_at).total_seconds()
    return age > STALE_SECONDS


def _holder(row: Any) -> str:
    return f"process {row.pid} on {row.host} since {row.acquired_at.isoformat(timespec='seconds')}"


def process_started(pid: int) -> str:
    """Return what tells this process from a later one with the same pid; empty when there is no such process."""
    try:
        # Field 22 of /proc/<pid>/stat, counted after the command, which may hold blanks and brackets. A zombie has ended.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return ""
    except (OSError, IndexError):
        return "unknown"
    else:
        return "" if fields[0] in ("Z", "X") else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        return "unknown"
    return "unknown"
