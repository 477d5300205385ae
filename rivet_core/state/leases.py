"""Leases: one run per export at a time, counted slots of a group across processes, and taking over from the dead.

A lease is a row with its owner's host, pid and process start time, and a heartbeat every 5 s. It is stale at once when that
process is gone from this host, else when no heartbeat came for 30 s. Taking a stale lease over names the one it was taken from.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.exc import IntegrityError

from rivet_core.errors import BusyError, RivetError
from rivet_core.state.database import Database, put, table
from rivet_core.state.models import LeaseRow

HEARTBEAT_SECONDS = 5.0
STALE_SECONDS = 30.0
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lease that is held. `taken_from` says whose stale lease it was, empty when it was free."""

    name: str
    taken_from: str = ""


class Leases:
    """The leases of this process, kept alive by one thread that starts with the first of them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner = uuid.uuid4().hex
        self._held: set[str] = set()
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self, name: str, *, wait: float = 0.0) -> Lease:
        """Take a lease, waiting up to `wait` seconds. Raises `BusyError` naming the holder."""
        until = time.monotonic() + wait
        while True:
            found, holder = self._try([name])
            if found is not None:
                return found
            if time.monotonic() >= until:
                raise BusyError(
                    f"{name} is in use by another run: {holder}",
                    hint="wait for it, or give --lock-wait SECONDS",
                    code="lease_held",
                )
            time.sleep(min(POLL_SECONDS, max(0.0, until - time.monotonic())))

    def slot(self, names: list[str]) -> Lease | None:
        """Take any one of several equal slots, `None` when all are taken."""
        return self._try(names)[0]

    def release(self, lease: Lease) -> None:
        """Give a lease back."""
        with self._guard:
            self._held.discard(lease.name)
        with self._database.writing() as connection:
            connection.execute(delete(table(LeaseRow)).where(LeaseRow.name == lease.name, LeaseRow.owner == self._owner))

    def lost(self, lease: Lease) -> bool:
        """Whether somebody took the lease over, after this process was asleep for too long."""
        with self._database.reading() as connection:
            owner = connection.execute(select(LeaseRow.owner).where(LeaseRow.name == lease.name)).scalar()
        return owner != self._owner

    def holders(self) -> dict[str, str]:
        """Return every lease's name and holder, stale ones included, for reports."""
        with self._database.reading() as connection:
            return {row.name: _holder(row) for row in connection.execute(select(table(LeaseRow)).order_by(LeaseRow.name))}

    def close(self) -> None:
        """Release everything and stop the heartbeat."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        with self._guard:
            held, self._held = self._held, set()
        if held:
            with self._database.writing() as connection:
                connection.execute(delete(table(LeaseRow)).where(LeaseRow.owner == self._owner))

    def _try(self, names: list[str]) -> tuple[Lease | None, str]:
        try:
            return self._take(names)
        except RivetError as error:
            if isinstance(error.__cause__, IntegrityError):
                return None, "a process that was faster"
            raise

    def _take(self, names: list[str]) -> tuple[Lease | None, str]:
        holder = ""
        with self._database.writing() as connection:
            for name in names:
                row = self._locked(connection, name)
                if row is not None and not _stale(row):
                    holder = _holder(row)
                    continue
                now = datetime.now(UTC)
                put(
                    connection,
                    LeaseRow,
                    name=name,
                    owner=self._owner,
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    process_started=process_started(os.getpid()),
                    acquired_at=now,
                    heartbeat_at=now,
                )
                self._keep(name)
                return Lease(name=name, taken_from=_holder(row) if row is not None else ""), ""
        return None, holder

    def _locked(self, connection: Connection, name: str) -> Any:
        query = select(table(LeaseRow)).where(LeaseRow.name == name)
        if connection.dialect.name != "sqlite":
            query = query.with_for_update()
        return connection.execute(query).first()

    def _keep(self, name: str) -> None:
        with self._guard:
            self._held.add(name)
            if self._thread is None:
                self._stop.clear()
                self._thread = threading.Thread(target=self._beat, name="rivet-heartbeat", daemon=True)
                self._thread.start()

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            try:
                with self._database.writing() as connection:
                    connection.execute(
                        update(table(LeaseRow)).where(LeaseRow.owner == self._owner).values(heartbeat_at=datetime.now(UTC))
                    )
            except RivetError:
                continue  # The next beat tries again; six may be missed before anybody takes over.


def _stale(row: Any) -> bool:
    if row.host == socket.gethostname():
        started = process_started(row.pid)
        if not started or ("unknown" not in (started, row.process_started) and started != row.process_started):
            return True
    age: float = (datetime.now(UTC) - row.heartbeat_at).total_seconds()
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
