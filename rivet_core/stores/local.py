"""Local disk: temporary file, fsync, rename, fsync of the directory. A file under its final name is whole and durable."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import xxhash

from rivet_core.api import Target
from rivet_core.errors import BusyError
from rivet_core.stores.faults import destination_error
from rivet_core.stores.keys import safe_key
from rivet_core.stores.store import Entry, Part, Store, Versioned

TEMPORARY = ".tmp"
"""Suffix of files on their way; they also start with a dot, so no glob of data files matches them."""

LOCK_SECONDS = 60.0
"""How long another process may take for one small write and two syncs, until it counts as standing still."""
LOCK_POLL_SECONDS = 0.02


class LocalPart(Part):
    """A temporary file beside its final name.

    `mark` keeps apart the temporary files of two writers of one key: one that stood still while another took its place would
    go on to write into the file that the other published. `dropped` is called when it was given up: its directory may be
    empty then.
    """

    def __init__(self, key: str, path: Path, dropped: Callable[[Path], None], mark: str = "") -> None:
        super().__init__(key, str(path))
        self._path = path
        self._dropped = dropped
        self._temporary = path.with_name(f".{path.name}{mark}{TEMPORARY}")
        try:
            self._descriptor = os.open(
                self._temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0), 0o666
            )
        except OSError as error:
            raise destination_error(error, str(path), "write") from error

    def _append(self, data: memoryview) -> None:
        while data.nbytes:
            data = data[os.write(self._descriptor, data) :]

    def _publish(self) -> None:
        if self.bytes:  # An empty file is nothing but its name, which the directory keeps.
            os.fsync(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1
        self._temporary.replace(self._path)

    def _discard(self) -> None:
        with contextlib.suppress(OSError):
            if self._descriptor >= 0:
                os.close(self._descriptor)
        self._descriptor = -1
        with contextlib.suppress(OSError):
            self._temporary.unlink()
        self._dropped(self._path.parent)


class LocalStore(Store):
    """A directory tree. `current.json` is guarded by a lock on its directory, so two processes cannot both replace it."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self._root = Path(target.root)
        self._changed: set[Path] = set()
        self._lock = threading.Lock()
        self._folders = threading.Lock()
        """Held between making a directory and putting a file into it, and while empty ones are taken away."""

    def _make(self, folder: Path) -> None:
        """Create a directory, remembering the parents that have a new name to be synced."""
        if folder.is_dir():
            return
        missing = [folder, *(parent for parent in folder.parents if not parent.exists())]
        folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self._changed.update(path.parent for path in missing)

    def _path(self, key: str) -> Path:
        return self._root / safe_key(key)

    def write(self, key: str) -> Part:
        """Start a file in its final directory, under a temporary name."""
        path = self._path(key)
        with self._folders:
            try:
                self._make(path.parent)
            except OSError as error:
                raise destination_error(error, str(path), "write") from error
            return LocalPart(key, path, self._prune, f".{uuid.uuid4().hex[:12]}")

    def check(self) -> None:
        """Create the root if need be, and a file in it."""
        probe = self._root / f".rivet-{uuid.uuid4().hex}{TEMPORARY}"
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with probe.open("wb") as file:
                file.write(b"rivet")
        except OSError as error:
            raise destination_error(error, str(self._root), "write to") from error
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()

    def sync(self, directory: str, *, deep: bool = False) -> None:
        """Sync the directory, and those above it that got a new name: a rename is durable only then."""
        path = self._path(directory)
        _sync(path)
        with self._lock:
            for folder in path.parents:
                if folder in self._changed or (deep and folder.is_relative_to(self._root)):
                    _sync(folder)
                    self._changed.discard(folder)

    def current(self, key: str) -> Versioned | None:
        """Read the file; its tag is the digest of its bytes."""
        try:
            data = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise destination_error(error, str(self._path(key)), "read") from error
        return Versioned(data=data, tag=xxhash.xxh3_128_hexdigest(data))

    def replace(self, key: str, data: bytes, previous: Versioned | None) -> None:
        """Write, fsync and rename under a lock of the directory, after looking that nobody was faster."""
        path = self._path(key)
        try:
            self._make(path.parent)
            with _locked(path.parent, self.stopped):
                found = self.current(key)
                if (found.tag if found else None) != (previous.tag if previous else None):
                    raise BusyError(
                        f"{path} was replaced by another run meanwhile",
                        hint="let the other run finish, then start again",
                        code="replaced",
                    )
                # One name for all: what a killed process left is overwritten. Others wait for the lock of this directory.
                with LocalPart(key, path, lambda folder: None) as part:
                    part.write(data)
                    part.commit()
                self.sync(key.rpartition("/")[0] or key)
        except OSError as error:
            raise destination_error(error, str(path), "replace") from error

    def read(self, key: str) -> bytes:
        """Return a whole file."""
        try:
            return self._path(key).read_bytes()
        except OSError as error:
            raise destination_error(error, str(self._path(key)), "read") from error

    def chunks(self, key: str, size: int = 1 << 20) -> Iterator[bytes]:
        """Yield a file piece by piece."""
        try:
            with self._path(key).open("rb") as file:
                while chunk := file.read(size):
                    yield chunk
        except OSError as error:
            raise destination_error(error, str(self._path(key)), "read") from error

    def open(self, key: str) -> BinaryIO:
        """Open a file for reading."""
        try:
            return self._path(key).open("rb")
        except OSError as error:
            raise destination_error(error, str(self._path(key)), "read") from error

    def size(self, key: str) -> int | None:
        """Return a file's size, `None` when there is no such file."""
        try:
            return self._path(key).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise destination_error(error, str(self._path(key)), "read") from error

    def files(self, directory: str) -> list[Entry]:
        """Walk one directory."""
        start = self._path(directory) if directory else self._root
        entries = []
        try:
            for folder, _, names in os.walk(start, onerror=_raise):
                for name in names:
                    path = Path(folder) / name
                    entries.append(Entry(key=path.relative_to(self._root).as_posix(), bytes=path.stat().st_size))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise destination_error(error, str(start), "list") from error
        return sorted(entries, key=lambda entry: entry.key)

    def _delete(self, key: str) -> None:
        path = self._path(key)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise destination_error(error, str(path), "delete") from error
        self._prune(path.parent)

    def _prune(self, folder: Path) -> None:
        """Take away directories that became empty, never the root."""
        with self._folders:
            for place in (folder, *folder.parents):
                if place == self._root or not place.is_relative_to(self._root):
                    return
                try:
                    place.rmdir()
                except OSError:
                    return


def _sync(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise destination_error(error, str(folder), "sync") from error


def _raise(error: OSError) -> None:
    raise error


@contextlib.contextmanager
def _locked(directory: Path, stopped: threading.Event) -> Iterator[None]:
    """Hold an exclusive advisory lock on a directory; it vanishes with its process and leaves no file."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - no flock on this platform; the lease of the state database guards alone
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until or stopped.wait(LOCK_POLL_SECONDS):
                    raise BusyError(
                        f"{directory} is held by another process that replaces the dataset and does not end",
                        hint="end that process if it stands still, then start again",
                        code="locked",
                    ) from None
        yield
    finally:
        os.close(descriptor)
