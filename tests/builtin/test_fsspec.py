"""Any fsspec URL as a destination, with what it cannot promise declared."""

from __future__ import annotations

import uuid

import fsspec
import pytest
from pydantic import ValidationError

from rivet_core.builtin.fsspec import FsspecOptions, open_fsspec
from rivet_core.errors import BusyError, ConfigError, DestinationError
from rivet_core.stores import open_store


def open_at(url, **more):
    return open_fsspec(FsspecOptions(url=url, **more))


def test_it_writes_below_url_and_path():
    root = f"memory:///lake-{uuid.uuid4().hex}"
    target = open_at(root, path="raw/shop")
    store = open_store(target)
    store.put("orders/run=1/part-0.parquet", b"1")
    assert store.url("orders/run=1/part-0.parquet").startswith(root)
    assert open_store(open_at(root)).read("raw/shop/orders/run=1/part-0.parquet") == b"1"


def test_the_weaker_guarantees_are_declared_and_kept():
    target = open_at(f"memory://lake-{uuid.uuid4().hex}")
    assert target.capabilities.conditional_put is False
    store = open_store(target)
    store.replace("current.json", b"1", None)
    seen = store.current("current.json")
    store.replace("current.json", b"2", seen)
    with pytest.raises(BusyError):
        store.replace("current.json", b"3", seen)


def test_what_the_filesystem_is_given_is_kept_from_sight():
    options = FsspecOptions(url="memory://x", storage={"account_key": "s3cret", "retries": 3, "anon": True})
    assert options.given() == {"account_key": "s3cret", "retries": 3, "anon": True}
    assert "s3cret" not in repr(options)


@pytest.mark.parametrize("url", ["file:///tmp/x", "local:///tmp/x"])
def test_local_paths_have_their_own_type(url):
    with pytest.raises(ConfigError, match="type of their own"):
        open_at(url)


def test_a_protocol_nobody_knows():
    with pytest.raises(ConfigError, match="nothing that is installed opens nowhere://") as caught:
        open_at("nowhere://x")
    assert caught.value.hint


@pytest.mark.parametrize("path", ["..", "a/../b", "../x"])
def test_a_path_that_leads_up_is_refused(path):
    with pytest.raises(ValidationError, match=r"must not hold `\.\.`"):
        FsspecOptions(url="memory://x", path=path)


@pytest.mark.parametrize("keys", [{"url": "no-url"}, {"url": "memory://x", "bucket": "b"}, {}])
def test_keys_that_make_no_sense(keys):
    with pytest.raises(ValidationError):
        FsspecOptions(**keys)


def test_g03_what_a_filesystem_refuses_is_not_repeated():
    """A package may put what it was given into its error."""

    class Telling(fsspec.AbstractFileSystem):
        protocol = "telling"

        def __init__(self, account_key, **more):
            raise ValueError(f"bad connection string AccountKey={account_key}")

    fsspec.register_implementation("telling", Telling, clobber=True)
    with pytest.raises(DestinationError, match="cannot open telling://: ValueError") as caught:
        open_at("telling://x", storage={"account_key": "geheim"})
    assert "geheim" not in caught.value.message + caught.value.hint
