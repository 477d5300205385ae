"""Checks of a destination: what was written comes back, appears whole or not at all, and two writers cannot both win."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from rivet_core.errors import BusyError, RivetError
from rivet_core.testing.conformance.base import Conformance, fault_of
from rivet_core.testing.conformance.references import build_options, load

if TYPE_CHECKING:
    from rivet_core.api import DestinationSpec, Target
    from rivet_core.stores import Store

LARGE = 20 << 20
"""Bytes: more than one piece of a multipart upload."""


class DestinationConformance(Conformance):
    """Set `name`, and override `options` and `refused`."""

    CHECKS: ClassVar[int] = 11
    HOOK: ClassVar[str] = "rivet_destinations"
    secret: ClassVar[str] = ""
    """A piece of text of `refused` that must never be shown. Empty for a destination that has none."""

    @pytest.fixture
    def options(self) -> Mapping[str, Any]:
        """What stands under the destination in a config, `type` left out, for an empty place."""
        raise NotImplementedError("override the fixture `options`")

    @pytest.fixture
    def refused(self) -> Mapping[str, Any]:
        """Options of a place that cannot be written to: wrong or missing credentials, a path without rights."""
        raise NotImplementedError("override the fixture `refused`")

    @pytest.fixture
    def target(self, record: DestinationSpec, options: Mapping[str, Any], tmp_path: Path) -> Target:
        """The destination, opened as core opens it."""
        opened: Target = load(record.open)(build_options(record.options, options, tmp_path))
        return opened

    @pytest.fixture
    def store(self, target: Target) -> Store:
        """The store that core publishes through, over the target."""
        from rivet_core.stores import open_store

        return open_store(target)

    def test_a_file_comes_back(self, store: Store) -> None:
        """Empty, small, and larger than one piece of an upload."""
        for number, size in enumerate((0, 1, LARGE)):
            data = bytes(range(256)) * (size // 256) + b"r" * (size % 256)
            written = store.put(f"a/{number}.bin", data)
            assert written.bytes == len(data) == store.size(f"a/{number}.bin")
            assert store.read(f"a/{number}.bin") == data
            assert store.checksum(f"a/{number}.bin") == written.checksum

    def test_names_pass_unchanged(self, store: Store) -> None:
        """Blanks, letters of any language, equals signs and percent signs."""
        names = ("run=1/part 1.parquet", "Zażółć/ü.parquet", "100%25/x+y&z.csv", "day=2024-01-01/#1.csv")
        for name in names:
            store.put(name, name.encode())
        assert [store.read(name).decode() for name in names] == list(names)

    def test_a_listing_shows_what_was_just_written_and_no_neighbours(self, store: Store, target: Target) -> None:
        """Where the target says so, at once; never a directory whose name only starts alike."""
        for key in ("out/orders/1.bin", "out/orders/deep/2.bin", "out/orders_old/3.bin"):
            store.put(key, b"x")
        assert target.capabilities.list_after_write, "a store that lists late needs a check of its own: tell core's authors"
        assert [entry.key for entry in store.files("out/orders")] == ["out/orders/1.bin", "out/orders/deep/2.bin"]
        assert store.files("out/nothing") == []

    def test_what_is_deleted_is_gone(self, store: Store) -> None:
        """It alone; `gc` and `keep_runs` live on it. What is not there any more is deleted already."""
        for key in ("out/run=1/a.bin", "out/run=1/b.bin", "out/run=10/a.bin"):
            store.put(key, b"x")
        for _ in range(2):
            store.delete(["out/run=1/a.bin"])
        assert store.size("out/run=1/a.bin") is None
        assert [entry.key for entry in store.files("out")] == ["out/run=1/b.bin", "out/run=10/a.bin"]
        store.delete_tree("out/run=1")
        assert [entry.key for entry in store.files("out")] == ["out/run=10/a.bin"]

    def test_a_file_that_was_given_up_never_appears(self, store: Store) -> None:
        """Neither a small one nor one that had begun to travel."""
        for size in (10, LARGE):
            with store.write("given/up.bin") as part:
                part.write(b"x" * size)
            assert store.size("given/up.bin") is None
        assert store.files("given") == []

    def test_a_file_is_not_seen_before_it_is_whole(self, store: Store) -> None:
        """I1, I2: finished first, then published."""
        with store.write("whole.bin") as part:
            part.write(b"x" * LARGE)
            assert store.size("whole.bin") is None
            part.commit()
        assert store.size("whole.bin") == LARGE

    def test_a_replace_is_all_or_nothing(self, store: Store, target: Target) -> None:
        """A reader sees one version or the other, whole."""
        assert target.capabilities.atomic_replace, "core commits by replacing one small file: it must be atomic"
        versions = {bytes([65 + number]) * 60_000 for number in range(8)}
        store.put("current.json", min(versions))
        seen: set[bytes] = set()
        stop = threading.Event()

        def look() -> None:
            while not stop.is_set():
                seen.add(store.read("current.json"))

        reader = threading.Thread(target=look)
        reader.start()
        try:
            for version in sorted(versions):
                store.replace("current.json", version, store.current("current.json"))
        finally:
            stop.set()
            reader.join()
        assert seen <= versions, "a reader saw a torn file"

    def test_of_two_writers_one_wins(self, store: Store) -> None:
        """I7: replacing demands that nobody else did meanwhile."""
        store.replace("claim.json", b"first", None)
        with pytest.raises(BusyError):
            store.replace("claim.json", b"second", None)
        before = store.current("claim.json")
        assert before is not None
        store.replace("claim.json", b"third", before)
        with pytest.raises(BusyError):
            store.replace("claim.json", b"fourth", before)
        assert store.read("claim.json") == b"third"

    def test_its_paths_are_what_a_reader_opens(self, store: Store, target: Target) -> None:
        """An absolute path or a full URL; a local one leads to the file."""
        store.put("somewhere/file.bin", b"here")
        url = store.url("somewhere/file.bin")
        assert url.startswith("/") or "://" in url, url
        if target.capabilities.local:
            assert Path(url).read_bytes() == b"here"

    def test_a_refused_place_is_explained_and_shows_no_secret(
        self, record: DestinationSpec, refused: Mapping[str, Any], tmp_path: Path
    ) -> None:
        """A `RivetError` with a hint before a campaign starts."""
        from rivet_core.stores import open_store

        with pytest.raises(RivetError) as caught:
            open_store(load(record.open)(build_options(record.options, refused, tmp_path))).check()
        assert caught.value.hint, "an error needs a hint: what to do about it"
        if self.secret:
            assert self.secret in str(refused), "`refused` does not hold `secret`, so the check would prove nothing"
            assert self.secret not in fault_of(caught.value), "the secret is shown"
