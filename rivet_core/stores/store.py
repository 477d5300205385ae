"""The store: what running does with a destination, whatever filesystem is below."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import BinaryIO, TypeVar

import xxhash

from rivet_core.api import Target
from rivet_core.errors import DestinationError, IntegrityError
from rivet_core.stores.faults import destination_error
from rivet_core.stores.keys import safe_key

ResultT = TypeVar("ResultT")

TRIES = 5
"""Attempts of one small operation (put a manifest, list a directory) against a store that throttles or hiccups."""

PATIENT_TRIES = 9
"""Attempts where giving up would cost another read of the source: pauses of about 15 s in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A published file: its key, size in bytes, and `xxh3:<128-bit hex>` over its bytes, computed while writing."""

    key: str
    bytes: int
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file of a listing."""

    key: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Versioned:
    """A small file as it was read, and the tag that says whether it is still that one."""

    data: bytes
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """An upload that somebody began and neither completed nor aborted: no reader sees it, the bill does."""

    key: str
    id: str
    began: datetime


class Part(ABC):
    """A file on its way: nobody sees it before `commit`, and `abort` leaves nothing behind.

    It is a context manager that aborts unless it was committed; `write` takes any bytes-like object.
    """

    def __init__(self, key: str, where: str) -> None:
        self.key = key
        self.where = where
        self.bytes = 0
        self._hash = xxhash.xxh3_128()
        self._open = True

    def write(self, data: bytes | memoryview) -> int:
        """Append `data`; return its length in bytes."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        try:
            self._append(view)
        except Exception as error:
            raise destination_error(error, self.where, "write") from error
        self._hash.update(view)
        self.bytes += view.nbytes
        return view.nbytes

    def commit(self) -> Written:
        """Make the file durable and publish it under its final key (I1, I2)."""
        try:
            self._publish()
        except Exception as error:
            self.abort()
            raise destination_error(error, self.where, "publish") from error
        self._open = False
        return Written(key=self.key, bytes=self.bytes, checksum=f"xxh3:{self._hash.hexdigest()}")

    @property
    def is_open(self) -> bool:
        """Whether it is neither committed nor aborted."""
        return self._open

    def abort(self) -> None:
        """Drop what was written. Aborting twice, or after the commit, does nothing."""
        if self._open:
            self._open = False
            self._discard()

    def __enter__(self) -> Part:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.abort()

    @abstractmethod
    def _append(self, data: memoryview) -> None: ...

    @abstractmethod
    def _publish(self) -> None: ...

    @abstractmethod
    def _discard(self) -> None: ...


class Store(ABC):
    """A target one can publish into. All keys are below its root; every error is a `DestinationError` with the full path."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.stopped = threading.Event()
        """Set when the process is to end: a file that waits for a store to recover is given up at once."""

    def url(self, key: str) -> str:
        """Return what a reader opens: an absolute path or a full URL."""
        prefix = self.target.url_prefix
        return f"{prefix.rstrip('/')}/{safe_key(key)}" if prefix.strip("/") else f"{prefix}{safe_key(key)}"

    @property
    def where(self) -> str:
        """The root as a reader knows it."""
        return self.target.url_prefix or self.target.root

    @abstractmethod
    def write(self, key: str) -> Part:
        """Start a file."""

    @abstractmethod
    def check(self) -> None:
        """Raise when nothing could be written here: one attempt before a campaign starts (M01)."""

    @abstractmethod
    def sync(self, directory: str, *, deep: bool = False) -> None:
        """Make the names in `directory` durable, and the new names above it, where the store has such a notion.

        `deep` syncs everything up to the root: another process may have made the directories.
        """

    @abstractmethod
    def current(self, key: str) -> Versioned | None:
        """Return a small file with its tag, `None` when it does not exist."""

    @abstractmethod
    def replace(self, key: str, data: bytes, previous: Versioned | None) -> None:
        """Replace a small file atomically, only if it still is `previous` (`None`: absent). Raises `BusyError` when not."""

    @abstractmethod
    def read(self, key: str) -> bytes:
        """Return a whole file."""

    @abstractmethod
    def chunks(self, key: str, size: int = 1 << 20) -> Iterator[bytes]:
        """Yield a file piece by piece."""

    @abstractmethod
    def open(self, key: str) -> BinaryIO:
        """Open a file for reading at any place in it."""

    @abstractmethod
    def size(self, key: str) -> int | None:
        """Return a file's size in bytes, `None` when it does not exist."""

    @abstractmethod
    def files(self, directory: str) -> list[Entry]:
        """Return all files under a directory, sorted; never those of a neighbour whose name only starts alike (O08)."""

    def uploads(self, directory: str) -> list[Upload]:
        """Return the uploads under a directory that nobody ended, where the store has such a notion."""
        return []

    def abort_upload(self, upload: Upload) -> None:
        """End an upload and free what it holds; stores that never list one have nothing to do."""
        raise NotImplementedError(f"{type(self).__name__} has no uploads")

    @abstractmethod
    def _delete(self, key: str) -> None: ...

    def put(self, key: str, data: bytes) -> Written:
        """Write a small file whole."""

        def once() -> Written:
            with self.write(key) as part:
                part.write(data)
                return part.commit()

        return retried(once)

    def checksum(self, key: str) -> str:
        """Return the checksum of a file as it lies there."""
        digest = xxhash.xxh3_128()
        for chunk in self.chunks(key):
            digest.update(chunk)
        return f"xxh3:{digest.hexdigest()}"

    def delete(self, keys: Iterable[str]) -> None:
        """Delete single files; one that is already gone is fine."""
        for key in keys:
            self._delete(safe_key(key))

    def delete_tree(self, directory: str) -> list[Entry]:
        """Delete every file under one directory and return them; an empty directory name is refused (O08)."""
        if not directory.strip("/"):
            raise IntegrityError(
                f"refused to delete everything under {self.where}",
                hint="name the directory of one run or export",
                code="empty_prefix",
            )
        entries = self.files(directory)
        self.delete(entry.key for entry in entries)
        return entries


def retried(action: Callable[[], ResultT], tries: int = TRIES, stopped: threading.Event | None = None) -> ResultT:
    """Run a small idempotent operation, again with growing jittered pauses while its error is transient (O05).

    Once `stopped` is set there is no further try, and no pause goes on.
    """
    over = stopped or threading.Event()

    def transient(error: BaseException) -> bool:
        return isinstance(error, DestinationError) and error.transient

    import tenacity  # brings asyncio, which planning does without

    policy = tenacity.Retrying(
        retry=tenacity.retry_if_exception(transient),
        stop=tenacity.stop_after_attempt(tries) | tenacity.stop_when_event_set(over),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=5),
        sleep=tenacity.sleep_using_event(over),
        reraise=True,
    )
    return policy(action)


def open_store(target: Target) -> Store:
    """Return the store over an open target: local rename and fsync where they apply, else whole-object puts."""
    if target.capabilities.local:
        from rivet_core.stores.local import LocalStore

        return LocalStore(target)
    if target.capabilities.stream:
        from rivet_core.stores.stream import StreamStore

        return StreamStore(target)
    from rivet_core.stores.objects import ObjectStore

    return ObjectStore(target)
