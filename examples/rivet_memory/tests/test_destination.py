"""The destination under the conformance kit, and what is special about memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from rivet_memory.target import Options, RivetMemory, open_target

from rivet_core.errors import DestinationError
from rivet_core.stores import open_store
from rivet_core.testing import DestinationConformance


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    yield
    RivetMemory.store.clear()
    del RivetMemory.pseudo_dirs[1:]


class TestDestination(DestinationConformance):
    """Every check of the kit for this kind."""

    name = "memory"

    @pytest.fixture
    def options(self) -> Mapping[str, Any]:
        return {"name": "kit"}

    @pytest.fixture
    def refused(self) -> Mapping[str, Any]:
        return {"name": "kit", "max_bytes": 0}


def test_names_are_stores_of_their_own() -> None:
    open_store(open_target(Options(name="one"))).put("a.txt", b"1")
    assert open_store(open_target(Options(name="two"))).size("a.txt") is None
    assert open_store(open_target(Options(name="one"))).url("a.txt") == "rivet-memory://one/a.txt"


def test_a_full_store_says_so_and_keeps_what_it_has() -> None:
    store = open_store(open_target(Options(name="small", max_bytes=10)))
    store.put("a.txt", b"0123456789")
    with pytest.raises(DestinationError) as caught:
        store.put("b.txt", b"x")
    assert caught.value.error_class == "full"
    assert store.read("a.txt") == b"0123456789"
    assert store.size("b.txt") is None
