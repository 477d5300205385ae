"""What every store does, whatever filesystem is below."""

from __future__ import annotations

import pytest
import xxhash

from rivet_core.errors import BusyError, DestinationError, IntegrityError


def test_a_part_is_seen_whole_or_not_at_all(store):
    with store.write("orders/a.bin") as part:
        part.write(b"one ")
        assert store.size("orders/a.bin") is None
        part.write(memoryview(b"two"))
        written = part.commit()
    assert store.read("orders/a.bin") == b"one two"
    assert (written.bytes, written.checksum) == (7, f"xxh3:{xxhash.xxh3_128_hexdigest(b'one two')}")
    assert store.checksum("orders/a.bin") == written.checksum


def test_an_aborted_part_leaves_nothing(store):
    with store.write("orders/a.bin") as part:
        part.write(b"x" * (40 << 20))
    assert store.size("orders/a.bin") is None
    assert store.files("orders") == []


def test_a_large_part_is_written_whole(store):
    block = bytes(range(256)) * 4096
    with store.write("big.bin") as part:
        for _ in range(20):
            part.write(block)
        written = part.commit()
    assert store.size("big.bin") == written.bytes == 20 << 20
    assert store.checksum("big.bin") == written.checksum
    assert b"".join(store.chunks("big.bin")) == block * 20


def test_o08_a_directory_is_not_its_neighbour(store):
    store.put("exports/orders/a.parquet", b"1")
    store.put("exports/orders_archive/b.parquet", b"2")
    assert [entry.key for entry in store.files("exports/orders")] == ["exports/orders/a.parquet"]
    assert [entry.key for entry in store.delete_tree("exports/orders")] == ["exports/orders/a.parquet"]
    assert [entry.key for entry in store.files("exports")] == ["exports/orders_archive/b.parquet"]


def test_o08_an_empty_prefix_is_refused(store):
    store.put("a", b"1")
    for prefix in ("", "/"):
        with pytest.raises(IntegrityError, match="refused"):
            store.delete_tree(prefix)
    assert store.read("a") == b"1"


def test_replace_only_what_was_read(store):
    store.replace("c.json", b"1", None)
    first = store.current("c.json")
    store.replace("c.json", b"2", first)
    with pytest.raises(BusyError, match="another run"):
        store.replace("c.json", b"3", first)
    with pytest.raises(BusyError):
        store.replace("c.json", b"3", None)
    assert store.read("c.json") == b"2"
    assert [entry.key for entry in store.files("")] == ["c.json"]


@pytest.mark.parametrize("key", ["", "../x", "a/../../x", "/etc/passwd", "a//b", "a/./b", "a\\b", "a\x00b"])
def test_no_key_leaves_the_root(store, key):
    with pytest.raises(IntegrityError):
        store.write(key)
    with pytest.raises(IntegrityError):
        store.delete([key])


def test_missing_files(store):
    assert store.current("no.json") is None
    assert store.size("no/such") is None
    assert store.files("nothing") == []
    store.delete(["no/such"])
    with pytest.raises(DestinationError, match="no/such"):
        store.read("no/such")


def test_two_processes_that_write_one_key_write_two_files(store):
    """One of them stood still and lost its lease: what it goes on to write is not in the other's published file."""
    slow = store.write("run/part.bin")
    slow.write(b"x" * (1 << 20))
    with store.write("run/part.bin") as fast:
        fast.write(b"y" * (1 << 20))
        fast.commit()
    slow.write(b"x" * (1 << 20))
    assert store.read("run/part.bin") == b"y" * (1 << 20)
    slow.abort()
    assert store.read("run/part.bin") == b"y" * (1 << 20)
    assert [entry.key for entry in store.files("run")] == ["run/part.bin"]
