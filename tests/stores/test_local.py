"""Local disk: what goes wrong there, and what it is called."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

import pytest

from rivet_core.builtin.local import LocalOptions, open_local
from rivet_core.errors import BusyError, DestinationError
from rivet_core.stores import local as local_module
from rivet_core.stores import open_store


def local_store(path):
    return open_store(open_local(LocalOptions.model_validate({"path": str(path)})))


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
from rivet_core.builtin.local import LocalOptions, open_local
from rivet_core.errors import DestinationError
from rivet_core.stores import open_store
store = open_store(open_local(LocalOptions.model_validate({"path": sys.argv[1]})))
try:
    with store.write("a.bin") as part:
        part.write(b"x" * 200_000)
        part.commit()
except DestinationError as error:
    print(error.error_class, error.message)
"""


def test_o03_no_space_left(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == f"full cannot write {tmp_path}/a.bin: no space left", done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_path_is_a_file(tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(DestinationError, match="out"):
        local_store(tmp_path / "out").check()
    with pytest.raises(DestinationError, match="out"):
        local_store(tmp_path / "out").write("a/b")


def test_permission_denied(tmp_path):
    # A pathname that not even root may write to.
    place = "/proc/1/fd" if os.geteuid() == 0 else str(tmp_path / "locked")
    if os.geteuid() != 0:
        (tmp_path / "locked").mkdir(mode=0o555)
    with pytest.raises(DestinationError, match=place) as caught:
        local_store(place).check()
    assert caught.value.error_class in ("permission", "missing")
    assert caught.value.hint


def test_check_leaves_nothing(local, tmp_path):
    local.check()
    assert list((tmp_path / "out").iterdir()) == []


def test_emptied_directories_go_but_never_the_root(local, tmp_path):
    local.put("a/b/c.bin", b"1")
    local.delete(["a/b/c.bin"])
    assert list((tmp_path / "out").iterdir()) == []
    assert (tmp_path / "out").is_dir()


def test_of_many_writers_one_replaces(local, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    def write(number):
        try:
            local_store(tmp_path / "out").replace("c.json", f"{number}".encode(), None)
        except BusyError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(16))) == 1


def test_a_file_that_is_given_up_takes_its_empty_directories_along(local, tmp_path):
    local.put("orders/_rivet/current.json", b"{}")
    with local.write("orders/run=2/part-0.parquet") as part:
        part.write(b"x")
    with local.write("new/run=1/part-0.parquet"), local.write("new/run=1/part-1.parquet") as other:
        other.commit()
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*")) == [
        "new",
        "new/run=1",
        "new/run=1/part-1.parquet",
        "orders",
        "orders/_rivet",
        "orders/_rivet/current.json",
    ]


def test_files_of_one_directory_are_begun_and_given_up_at_once(local):
    from concurrent.futures import ThreadPoolExecutor

    def write(number):
        with local.write(f"run=1/part-{number}") as part:
            part.write(b"x")
            if number % 10 == 0:
                part.commit()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(800)))
    assert len(local.files("run=1")) == 80


def test_a_directory_that_a_stopped_process_holds_is_not_waited_for_without_end(local, tmp_path, monkeypatch):
    monkeypatch.setattr(local_module, "LOCK_SECONDS", 0.2)
    local.replace("orders/_rivet/current.json", b"1", None)
    held = os.open(tmp_path / "out" / "orders" / "_rivet", os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BusyError, match="is held by another process"):
            local.replace("orders/_rivet/current.json", b"2", local.current("orders/_rivet/current.json"))
    finally:
        os.close(held)
    local.replace("orders/_rivet/current.json", b"2", local.current("orders/_rivet/current.json"))
