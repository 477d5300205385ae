"""A file on its way to one key of an object store.

A small file is one put. A larger one is a multipart upload opened with `autocommit=False`: `commit()` completes it, `discard()`
aborts it. Filesystems without that (sftp, webdav, memory, a local directory) get a temporary key that is moved.
"""

from __future__ import annotations

import contextlib
from typing import Any

import xxhash
from fsspec.spec import AbstractBufferedFile

from rivet_core.errors import DestinationError
from rivet_core.stores.faults import destination_error
from rivet_core.stores.store import Part, retried

BLOCK = 16 << 20
"""Bytes held before a file becomes a multipart upload, and the size of its pieces (S3 asks for at least 5 MiB)."""


UPLOADS: dict[type, bool] = {}
"""Kinds of filesystem that were seen to have no upload that only `commit` completes."""


class ObjectPart(Part):
    """Bytes on their way to one key."""

    def __init__(self, key: str, path: str, where: str, filesystem: Any) -> None:
        super().__init__(key, where)
        self._path = path
        self._filesystem = filesystem
        folder, _, name = path.rpartition("/")
        self._temporary = f"{folder}/.{name}.tmp"
        self._held = bytearray()
        self._upload: Any = None
        self._uploads = UPLOADS.get(type(filesystem), True)

    def _append(self, data: memoryview) -> None:
        if self._upload is None and len(self._held) + data.nbytes < BLOCK:
            self._held += data
            return
        if self._upload is None:
            self._upload = self._begin()
            self._upload.write(bytes(self._held))
            self._held.clear()
        self._upload.write(data)

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
        self._upload.close()
        # The bytes are there; completing is idempotent, so throttling here must not cost another read of the source (O05).
        if self._uploads:
            self._attempt(self._upload.commit)
        else:
            self._attempt(lambda: self._filesystem.mv(self._temporary, self._path))

    def _attempt(self, action: Any) -> None:
        def once() -> None:
            try:
                action()
            except Exception as error:
                self._filesystem.invalidate_cache()
                if size_of(self._filesystem, self._path) == self.bytes and self._ambiguous(error):
                    return
                raise destination_error(error, self.where, "publish") from error

        retried(once)
        self._filesystem.invalidate_cache()

    def _ambiguous(self, error: Exception) -> bool:
        """Whether the store may have done it although the answer was lost; an older file of that size is not proof."""
        found = destination_error(error, self.where, "publish")
        if not (isinstance(found, DestinationError) and found.transient):
            return isinstance(error, FileNotFoundError) and self._upload is not None
        digest = xxhash.xxh3_128()
        with self._filesystem.open(self._path, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        return digest.digest() == self._hash.digest()

    def _discard(self) -> None:
        if self._upload is None:
            self._held.clear()
            return
        with contextlib.suppress(Exception):
            retried(self._give_up)
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
