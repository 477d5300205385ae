"""A file on its way to one key of an object store.

A small file is one put. A larger one is a multipart upload opened with `autocommit=False`: `commit()` completes it, `discard()`
aborts it. Filesystems without that (sftp, webdav, memory, a local directory) get a temporary key that is moved.

A request that is throttled or lost is made again here, piece by piece: the bytes are at hand, reading them from the source once
more would cost everybody (O05).
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from typing import Any

import xxhash
from fsspec.spec import AbstractBufferedFile

from rivet_core.errors import DestinationError
from rivet_core.facts.memory import PIECE_BYTES
from rivet_core.stores.faults import destination_error
from rivet_core.stores.store import PATIENT_TRIES, TRIES, Part, retried

BLOCK = PIECE_BYTES
"""Bytes held before a file becomes a multipart upload, and the size of its pieces (S3 asks for at least 5 MiB)."""


UPLOADS: dict[type, bool] = {}
"""Kinds of filesystem that were seen to have no upload that only `commit` completes."""


class ObjectPart(Part):
    """Bytes on their way to one key."""

    def __init__(self, key: str, path: str, where: str, filesystem: Any, stopped: threading.Event) -> None:
        super().__init__(key, where)
        self._stopped = stopped
        self._path = path
        self._filesystem = filesystem
        folder, _, name = path.rpartition("/")
        self._temporary = f"{folder}/.{name}.{uuid.uuid4().hex[:12]}.tmp"  # two writers of one key write two files
        self._held = bytearray()
        self._upload: Any = None
        self._uploads = UPLOADS.get(type(filesystem), True)
        self._repeated = False

    def _append(self, data: memoryview) -> None:
        while data.nbytes:
            room = BLOCK - len(self._held)
            self._held += data[:room]
            data = data[room:]
            if len(self._held) == BLOCK:
                self._send()
                self._held.clear()

    def _send(self) -> None:
        """Send one full piece, again while the store only throttles."""
        if self._upload is None:
            self._upload = self._begin()
        if not self._uploads:
            self._upload.write(bytes(self._held))  # a plain file of whatever package: not all of them take a bytearray
            return
        handed_over = False

        def once() -> None:
            nonlocal handed_over
            if self._upload.closed:  # The upload was not even begun.
                self._upload, handed_over = self._begin(), False
            if handed_over:
                self._upload.flush()
            else:
                handed_over = True
                self._upload.write(self._held)

        self._retried(once, "write")

    def _finish(self) -> None:
        """Send what is left, smaller than a piece."""
        self._upload.write(bytes(self._held))
        if self._uploads:

            def once() -> None:
                self._upload.forced = False  # A last piece that failed counts as sent otherwise.
                self._upload.flush(force=True)

            self._retried(once, "write")
        self._held.clear()
        self._upload.close()

    def _retried(self, action: Any, what: str) -> None:
        def once() -> None:
            try:
                action()
            except Exception as error:
                self._repeated = True
                raise destination_error(error, self.where, what) from error

        retried(once, PATIENT_TRIES, self._stopped)

    def _begin(self) -> Any:
        upload = self._filesystem.open(
            self._path if self._uploads else self._temporary, "wb", block_size=BLOCK, autocommit=not self._uploads
        )
        if self._uploads and not isinstance(upload, AbstractBufferedFile):
            # It ignores autocommit: what is under the final key now is an empty file that somebody could take for the whole.
            self._uploads = UPLOADS[type(self._filesystem)] = False
            self._drop(upload)
            return self._begin()
        return upload

    def _drop(self, upload: Any) -> None:
        """Let go of a file that was opened under the final key, and of the empty key that this may have left there."""
        upload.close()
        if hasattr(upload, "discard"):
            with contextlib.suppress(FileNotFoundError):
                upload.discard()
        self._filesystem.invalidate_cache()
        if size_of(self._filesystem, self._path) == 0:
            with contextlib.suppress(FileNotFoundError):
                self._filesystem.rm_file(self._path)

    def _publish(self) -> None:
        if self._upload is None:
            data = bytes(self._held)
            self._attempt(lambda: self._filesystem.pipe_file(self._path, data))
            return
        self._finish()
        if self._uploads:
            self._attempt(self._upload.commit)
        else:
            self._attempt(lambda: self._filesystem.mv(self._temporary, self._path))
        if self._repeated:
            self._settle()

    def _settle(self) -> None:
        """After a request was repeated: make sure that no piece arrived twice, and that no upload was begun twice."""
        self._retried(self._check_size, "publish")
        self._abort_strays()

    def _check_size(self) -> None:
        found = size_of(self._filesystem, self._path)
        if found != self.bytes:
            raise DestinationError(
                f"cannot publish {self.where}: {self.bytes} bytes were sent and {found} are there",
                hint="the store took a repeated request twice; try again",
                code="destination_size",
                transient=True,
            )

    def _abort_strays(self) -> None:
        """Abort uploads of this key that were begun by a request whose answer was lost: nobody else knows of them."""
        bucket, _, key = self._path.strip("/").partition("/")
        if not hasattr(self._filesystem, "list_multipart_uploads"):
            return
        with contextlib.suppress(Exception):
            for found in self._filesystem.list_multipart_uploads(bucket):
                if found["Key"] == key:
                    self._filesystem.abort_mpu(bucket, key, found["UploadId"])

    def _attempt(self, action: Any) -> None:
        def once() -> None:
            try:
                action()
            except Exception as error:
                self._filesystem.invalidate_cache()
                failed = destination_error(error, self.where, "publish")
                if self._arrived(error, failed):
                    return
                raise failed from error

        retried(once, TRIES if self._upload is None else PATIENT_TRIES, self._stopped)
        self._filesystem.invalidate_cache()

    def _arrived(self, error: Exception, failed: Exception) -> bool:
        """Whether the store did it although the answer was lost; an older file of that size is no proof."""
        transient = isinstance(failed, DestinationError) and failed.transient
        if not transient and not (isinstance(error, FileNotFoundError) and self._upload is not None):
            return False
        try:
            if size_of(self._filesystem, self._path) != self.bytes:
                return False
            if not transient:
                return True
            digest = xxhash.xxh3_128()
            with self._filesystem.open(self._path, "rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
        except Exception:  # noqa: BLE001 - the store throttles this request too; what failed first is what is told
            return False
        return digest.digest() == self._hash.digest()

    def _discard(self) -> None:
        self._held.clear()
        if self._upload is None:
            return
        with contextlib.suppress(Exception):
            retried(self._give_up)
        if self._repeated:
            self._abort_strays()
        # fsspec files complete themselves when they are closed by the garbage collector; this one must not.
        with contextlib.suppress(AttributeError):
            self._upload.closed = True
        self._upload = None

    def _give_up(self) -> None:
        try:
            if self._uploads:
                self._upload.discard()
            else:
                self._upload.close()
                self._filesystem.rm_file(self._temporary)
        except Exception as error:
            raise destination_error(error, self.where, "abort the upload of") from error


def size_of(filesystem: Any, path: str) -> int | None:
    """Return the size of a file, `None` when there is none."""
    try:
        size = filesystem.info(path).get("size")
    except FileNotFoundError:
        return None
    return None if size is None else int(size)
