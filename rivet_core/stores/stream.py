"""Standard output as a store: bytes go out as they come and cannot be taken back, so one export writes one file, once.

There are no manifests and no `current.json`: whoever reads the other end has the data or has not. A reader that goes away ends
the run like a signal would; the cursor stays where it was.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from rivet_core.api import Target
from rivet_core.errors import EXIT_BROKEN_PIPE, DestinationError
from rivet_core.stores.keys import safe_key
from rivet_core.stores.store import Entry, Part, Store, Versioned

_claimed: list[int] = []
"""The descriptor that data goes to, once somebody has claimed stdout for data alone."""


def claim_stdout() -> None:
    """Keep stdout for data: whatever else this process prints from now on goes to stderr."""
    if not _claimed:
        sys.stdout.flush()
        _claimed.append(os.dup(1))
        os.dup2(2, 1)


class ReaderGoneError(DestinationError):
    """The reader of stdout closed it, as `head` does: nobody wants the rest, and nobody is to be told."""

    exit_code = EXIT_BROKEN_PIPE
    kind = "broken_pipe"


class StreamPart(Part):
    """Bytes on their way to stdout."""

    def __init__(self, key: str, store: StreamStore) -> None:
        super().__init__(key, "stdout")
        self._store = store

    def _append(self, data: memoryview) -> None:
        self._store.begun = True
        while data.nbytes:
            try:
                data = data[os.write(_claimed[0] if _claimed else 1, data) :]
            except BrokenPipeError as error:
                raise ReaderGoneError("the reader of stdout went away", hint="nothing was committed") from error
            except OSError as error:
                # EPIPE and the like are worth a retry elsewhere; here the bytes before it are gone.
                detail = error.strerror or errno.errorcode.get(error.errno or 0, "unknown")
                raise DestinationError(f"cannot write to stdout: {detail}", code="stdout_failed") from error

    def _publish(self) -> None:
        """Nothing to do: it is out."""

    def _discard(self) -> None:
        """Nothing can be taken back; the store refuses a second beginning."""


class _NoPart(StreamPart):
    """A manifest or mark: about files, and there are none."""

    def _append(self, data: memoryview) -> None:
        pass


class StreamStore(Store):
    """One stream of data. It remembers nothing, so every run finds it empty."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.begun = False

    def url(self, key: str) -> str:
        """Return `stdout`, whatever the key."""
        safe_key(key)
        return "stdout"

    def write(self, key: str) -> Part:
        """Start the one file. Raises `DestinationError` for a second one."""
        if not safe_key(key).rpartition("/")[2].startswith("part-"):
            return _NoPart(key, self)
        if self.begun:
            raise DestinationError(
                "only one file can go to stdout, and a part of it is out already",
                hint="run it again; leave out partition_by and max_file_size, or write to a directory",
                code="stdout_twice",
            )
        return StreamPart(key, self)

    def check(self) -> None:
        """A closed stdout shows at the first byte."""

    def sync(self, directory: str, *, deep: bool = False) -> None:
        """Nothing to do."""

    def current(self, key: str) -> Versioned | None:
        """There is no dataset."""
        return None

    def replace(self, key: str, data: bytes, previous: Versioned | None) -> None:
        """The commit of a stream is that all of it was taken."""

    def read(self, key: str) -> bytes:
        """Refuse: what is out is out."""
        raise _gone()

    def chunks(self, key: str, size: int = 1 << 20) -> Iterator[bytes]:
        """Refuse."""
        raise _gone()

    def open(self, key: str) -> BinaryIO:
        """Refuse."""
        raise _gone()

    def size(self, key: str) -> int | None:
        """There are no files."""
        return None

    def files(self, directory: str) -> list[Entry]:
        """There are no files."""
        return []

    def _delete(self, key: str) -> None:
        """There are no files."""


def _gone() -> DestinationError:
    return DestinationError("what went to stdout cannot be read back", hint="write to a directory", code="stdout_read")
