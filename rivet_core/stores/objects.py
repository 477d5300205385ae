"""Object stores through fsspec: a key appears whole or not at all, and an upload that fails leaves no billed parts (O04).

What an fsspec filesystem has to offer is `open`, `pipe_file`, `info`, `find`, `rm_file` and `mv`; one whose uploads a killed
process can leave behind also has s3fs's `list_multipart_uploads(bucket)` and `abort_mpu(bucket, key, id)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO, cast

import xxhash

from rivet_core.api import Target
from rivet_core.errors import BusyError
from rivet_core.stores.faults import destination_error
from rivet_core.stores.guard import guarded
from rivet_core.stores.keys import join, safe_key
from rivet_core.stores.objectpart import ObjectPart, size_of
from rivet_core.stores.store import Entry, Part, Store, Upload, Versioned, retried


class ObjectStore(Store):
    """Keys in a bucket or any other fsspec filesystem."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self._fs: Any = target.filesystem

    def _path(self, key: str) -> str:
        return join_root(self.target.root, safe_key(key))

    def write(self, key: str) -> Part:
        """Start an upload; nothing is sent before the first block is full."""
        return ObjectPart(key, self._path(key), self.url(key), self._fs, self.stopped)

    def check(self) -> None:
        """List the root once: a missing bucket or credential shows here, before anything is read."""

        def once() -> None:
            try:
                self._fs.ls(self.target.root, detail=False)
            except FileNotFoundError as error:
                bucket = self.target.root.strip("/").partition("/")[0]
                if bucket and not self._exists(bucket):
                    raise destination_error(error, self.where, "write to") from error
            except Exception as error:
                raise destination_error(error, self.where, "list") from error

        retried(once)

    def _exists(self, path: str) -> bool:
        try:
            return bool(self._fs.exists(path)) or not path
        except Exception as error:
            raise destination_error(error, self.where, "list") from error

    def sync(self, directory: str, *, deep: bool = False) -> None:
        """Nothing to do: a put that answered is durable."""

    def current(self, key: str) -> Versioned | None:
        """Read the file and its ETag (where the store has none, the digest of its bytes)."""

        def once() -> Versioned | None:
            path = self._path(key)
            try:
                self._fs.invalidate_cache()
                tag = str(self._fs.info(path).get("ETag") or "")
                data = bytes(self._fs.cat_file(path))
            except FileNotFoundError:
                return None
            except Exception as error:
                raise destination_error(error, self.url(key), "read") from error
            return Versioned(data=data, tag=tag or xxhash.xxh3_128_hexdigest(data))

        return retried(once)

    def replace(self, key: str, data: bytes, previous: Versioned | None) -> None:
        """Put under the condition that the key still is `previous`; without conditional puts, under a lock object."""
        if not self.target.capabilities.conditional_put:
            with guarded(self, f"{key}.lock"):
                self._unchanged(key, previous)
                self.put(key, data)
            return

        def once() -> None:
            condition = {"IfMatch": previous.tag} if previous else {"mode": "create"}
            try:
                self._fs.pipe_file(self._path(key), data, **condition)
            except Exception as error:
                found = self.current(key)
                if found is not None and found.data == data:
                    return  # The answer was lost, the put was not.
                text = f"{error} {error.__cause__}"
                if isinstance(error, FileExistsError) or "PreconditionFailed" in text or "ConditionalRequestConflict" in text:
                    raise self._replaced(key) from error
                raise destination_error(error, self.url(key), "replace") from error

        retried(once)
        self._fs.invalidate_cache()

    def _unchanged(self, key: str, previous: Versioned | None) -> None:
        found = self.current(key)
        if (found.tag if found else None) != (previous.tag if previous else None):
            raise self._replaced(key)

    def _replaced(self, key: str) -> BusyError:
        return BusyError(
            f"{self.url(key)} was replaced by another run meanwhile",
            hint="let the other run finish, then start again",
            code="replaced",
        )

    def read(self, key: str) -> bytes:
        """Return a whole file."""

        def once() -> bytes:
            try:
                return bytes(self._fs.cat_file(self._path(key)))
            except Exception as error:
                raise destination_error(error, self.url(key), "read") from error

        return retried(once)

    def chunks(self, key: str, size: int = 1 << 20) -> Iterator[bytes]:
        """Yield a file piece by piece."""
        try:
            with self._fs.open(self._path(key), "rb") as file:
                while chunk := file.read(size):
                    yield chunk
        except Exception as error:
            raise destination_error(error, self.url(key), "read") from error

    def open(self, key: str) -> BinaryIO:
        """Open a file for reading, by ranges."""
        try:
            return cast("BinaryIO", self._fs.open(self._path(key), "rb"))
        except Exception as error:
            raise destination_error(error, self.url(key), "read") from error

    def size(self, key: str) -> int | None:
        """Return a file's size, `None` when there is no such key."""
        try:
            self._fs.invalidate_cache()
            return size_of(self._fs, self._path(key))
        except Exception as error:
            raise destination_error(error, self.url(key), "read") from error

    def modified(self, key: str) -> datetime | None:
        """Return when a file was written by the store's clock; `None` when there is none, or it does not say."""
        try:
            self._fs.invalidate_cache()
            found = self._fs.modified(self._path(key))
        except (FileNotFoundError, NotImplementedError):
            return None
        except Exception as error:
            raise destination_error(error, self.url(key), "read") from error
        return found if isinstance(found, datetime) else None

    def files(self, directory: str) -> list[Entry]:
        """List below one directory, ended by a slash so that `orders` never matches `orders_archive`."""
        root = self.target.root.strip("/")
        base = f"{join_root(self.target.root, safe_key(directory)) if directory else self.target.root.rstrip('/')}/"

        def once() -> list[Entry]:
            try:
                self._fs.invalidate_cache()
                sizes = {path: int(info.get("size") or 0) for path, info in self._fs.find(base, detail=True).items()}
            except FileNotFoundError:
                return []
            except Exception as error:
                raise destination_error(error, self.url(directory) if directory else self.where, "list") from error
            entries = []
            for path, size in sizes.items():
                if path.strip("/").startswith(base.strip("/") + "/" if base.strip("/") else ""):
                    key = path.strip("/")[len(root) :].strip("/")
                    entries.append(Entry(key=key, bytes=size))
            return sorted(entries, key=lambda entry: entry.key)

        return retried(once)

    def uploads(self, directory: str) -> list[Upload]:
        """List unfinished uploads below one directory; `rivet gc` aborts those that a killed process left."""
        if not hasattr(self._fs, "list_multipart_uploads"):
            return []
        bucket, _, root = self.target.root.strip("/").partition("/")
        below = f"{join(root, safe_key(directory))}/"

        def once() -> list[Upload]:
            try:
                found = self._fs.list_multipart_uploads(bucket)
            except FileNotFoundError:  # how some stores say that there are none
                return []
            except Exception as error:
                raise destination_error(error, self.where, "list the uploads of") from error
            return [
                Upload(key=item["Key"][len(root) :].strip("/"), id=item["UploadId"], began=item["Initiated"])
                for item in found
                if item["Key"].startswith(below)
            ]

        return retried(once)

    def abort_upload(self, upload: Upload) -> None:
        """Abort an upload; one that is already gone is fine."""
        bucket, _, root = self.target.root.strip("/").partition("/")

        def once() -> None:
            try:
                self._fs.abort_mpu(bucket, join(root, upload.key), upload.id)
            except FileNotFoundError:
                pass
            except Exception as error:
                raise destination_error(error, self.url(upload.key), "abort the upload of") from error

        retried(once)

    def _delete(self, key: str) -> None:
        def once() -> None:
            try:
                self._fs.rm_file(self._path(key))
            except FileNotFoundError:
                pass
            except Exception as error:
                raise destination_error(error, self.url(key), "delete") from error

        retried(once)
        self._fs.invalidate_cache()


def join_root(root: str, key: str) -> str:
    """Return the filesystem's path of a key, keeping a leading slash of the root."""
    lead = "/" if root.startswith("/") else ""
    return lead + join(root, key)
