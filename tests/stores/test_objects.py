"""Object stores: throttling, lost answers, and uploads that must not be left behind."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from datetime import timedelta

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from rivet_core.api import StoreCapabilities, Target
from rivet_core.errors import BusyError, DestinationError
from rivet_core.stores import open_store
from rivet_core.stores.objectpart import BLOCK, UPLOADS


class Flaky(MemoryFileSystem):
    """A filesystem that answers the next calls with errors; `done` says whether it did the work all the same."""

    protocol = "flaky"
    cachable = False

    def __init__(self):
        super().__init__()
        self.store = {}
        self.pseudo_dirs = [""]
        self.failures = []
        self.puts = 0

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        self.puts += 1
        etag = kwargs.pop("IfMatch", None)
        if mode == "create" and self.exists(path):
            raise FileExistsError(path)
        if etag is not None and (not self.exists(path) or self.info(path)["ETag"] != etag):
            raise OSError("An error occurred (PreconditionFailed) when calling PutObject")
        error, done = self.failures.pop(0) if self.failures else (None, True)
        if done:
            with self.open(path, "wb") as file:
                file.write(value)
        if error is not None:
            raise error

    def info(self, path, **kwargs):
        found = super().info(path, **kwargs)
        if found["type"] == "file":
            found["ETag"] = str(hash(self.cat_file(path)))
        return found


@pytest.fixture
def flaky(monkeypatch):
    monkeypatch.setattr("tenacity.sleep_using_event", lambda event: lambda seconds: None)
    return Flaky()


def store_of(filesystem, *, conditional=True):
    capabilities = StoreCapabilities(atomic_replace=True, conditional_put=conditional, list_after_write=True)
    return open_store(Target(filesystem=filesystem, root="/bucket/p", url_prefix="s3://bucket/p", capabilities=capabilities))


def slow_down():
    return OSError("An error occurred (SlowDown) when calling the PutObject operation (reached max retries: 0)")


def test_o05_a_throttled_put_is_tried_again(flaky):
    flaky.failures = [(slow_down(), False)] * 3
    assert store_of(flaky).put("a.bin", b"1").bytes == 1
    assert store_of(flaky).read("a.bin") == b"1"


def test_a_lost_answer_is_read_back(flaky):
    flaky.failures = [(TimeoutError("read timed out"), True)]
    store_of(flaky).put("a.bin", b"1")
    assert flaky.puts == 1


def test_a_lost_answer_to_the_commit_is_read_back(flaky):
    store = store_of(flaky)
    store.replace("c.json", b"1", None)
    flaky.failures = [(ConnectionResetError("reset"), True)]
    store.replace("c.json", b"2", store.current("c.json"))
    assert store.read("c.json") == b"2"


def test_conditional_replace(flaky):
    store = store_of(flaky)
    store.replace("c.json", b"1", None)
    first = store.current("c.json")
    store.replace("c.json", b"2", first)
    with pytest.raises(BusyError):
        store.replace("c.json", b"3", first)
    with pytest.raises(BusyError):
        store.replace("c.json", b"3", None)
    assert [entry.key for entry in store.files("")] == ["c.json"]


def test_missing_credentials_are_permission_and_not_tried_again(flaky):
    class NoCredentialsError(Exception):
        pass

    flaky.failures = [(NoCredentialsError("Unable to locate credentials"), False)] * 9
    with pytest.raises(DestinationError) as caught:
        store_of(flaky).put("a.bin", b"1")
    assert (caught.value.error_class, caught.value.transient, flaky.puts) == ("permission", False, 1)
    assert "s3://bucket/p/a.bin" in caught.value.message


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("bad connection string AccountKey=geheim;"), "ValueError"),
        (
            RuntimeError("An error occurred (InvalidBucketName) when calling PutObject, geheim"),
            "RuntimeError (InvalidBucketName)",
        ),
        (OSError(5, "Input/output error"), "Input/output error"),
    ],
)
def test_g03_what_a_filesystem_says_is_not_repeated(flaky, error, said):
    flaky.failures = [(error, False)]
    with pytest.raises(DestinationError) as caught:
        store_of(flaky).put("a.bin", b"1")
    assert caught.value.message == f"cannot publish s3://bucket/p/a.bin: {said}"
    assert caught.value.hint


def lock(store, *, host="other", pid=7, at=0.0):
    store.put("c.json.lock", json.dumps({"owner": "x", "host": host, "pid": pid, "at": time.time() + at}).encode())


@pytest.mark.parametrize("skew", [0, -3600, 3600])
def test_a_lock_object_guards_stores_without_conditions(flaky, skew):
    """Whatever the clock of the host that put it says: the store's own decides when it is stale."""
    store = store_of(flaky, conditional=False)
    store.replace("c.json", b"1", None)
    lock(store, at=skew)
    with pytest.raises(BusyError, match="process 7 on other"):
        store.replace("c.json", b"2", store.current("c.json"))
    flaky.store["/bucket/p/c.json.lock"].modified -= timedelta(seconds=61)
    store.replace("c.json", b"2", store.current("c.json"))
    assert store.read("c.json") == b"2"
    assert [entry.key for entry in store.files("")] == ["c.json"]


def test_a_store_that_tells_no_times_leaves_it_to_the_clocks(flaky, monkeypatch):
    def untold(path):
        raise NotImplementedError

    monkeypatch.setattr(flaky, "modified", untold)
    store = store_of(flaky, conditional=False)
    lock(store, at=-30)
    with pytest.raises(BusyError):
        store.replace("c.json", b"1", None)
    lock(store, at=-61)
    store.replace("c.json", b"1", None)


def test_a_lock_of_a_process_of_this_host_that_died_is_taken_over_at_once(flaky):
    store = store_of(flaky, conditional=False)
    lock(store, host=socket.gethostname(), pid=os.getppid())
    with pytest.raises(BusyError, match=f"process {os.getppid()} on"):
        store.replace("c.json", b"1", None)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    lock(store, host=socket.gethostname(), pid=gone.pid)
    store.replace("c.json", b"1", None)
    store.put("c.json.lock", b"no lock at all")
    store.replace("c.json", b"2", store.current("c.json"))


def test_o04_an_upload_that_fails_is_aborted():
    filesystem = fsspec.filesystem("memory")
    store = store_of(filesystem)
    with store.write("big.bin") as part:
        part.write(b"x" * (2 * BLOCK))
    assert store.size("big.bin") is None


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_a_large_part_on_a_filesystem_without_uploads(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "aside"))
    (tmp_path / "aside").mkdir()
    (tmp_path / "out").mkdir()
    UPLOADS.clear()
    root = str(tmp_path / "out")
    capabilities = StoreCapabilities(atomic_replace=True, conditional_put=False, list_after_write=True)
    filesystem = fsspec.filesystem(kind)
    store = open_store(Target(filesystem=filesystem, root=root, url_prefix=root, capabilities=capabilities))
    megabyte = bytes(range(256)) * 4096
    for key in ("first.bin", "second.bin"):
        with store.write(key) as part:
            for _ in range(17):
                part.write(megabyte)
            written = part.commit()
        assert (written.bytes, store.size(key)) == (17 << 20, 17 << 20)
        assert store.read(key) == megabyte * 17
    with store.write("given-up.bin") as part:
        part.write(megabyte * 17)
    assert [entry.key for entry in store.files("")] == ["first.bin", "second.bin"]
    assert list((tmp_path / "aside").iterdir()) == []


def test_an_earlier_file_stands_when_a_large_one_is_given_up(tmp_path):
    UPLOADS.clear()
    capabilities = StoreCapabilities(atomic_replace=True, conditional_put=False, list_after_write=True)
    store = open_store(
        Target(filesystem=fsspec.filesystem("file"), root=str(tmp_path), url_prefix=str(tmp_path), capabilities=capabilities)
    )
    store.put("part.bin", b"earlier")
    with store.write("part.bin") as part:
        part.write(bytes(17 << 20))
    assert store.read("part.bin") == b"earlier"
