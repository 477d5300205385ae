"""A local store below a temporary directory, and one over fsspec's memory filesystem."""

from __future__ import annotations

import uuid

import fsspec
import pytest

from rivet_core.api import StoreCapabilities, Target
from rivet_core.builtin.local import LocalOptions, open_local
from rivet_core.stores import open_store


def local_store(path):
    return open_store(open_local(LocalOptions.model_validate({"path": str(path)})))


@pytest.fixture
def local(tmp_path):
    return local_store(tmp_path / "out")


@pytest.fixture
def memory():
    root = f"/bucket-{uuid.uuid4().hex}/prefix"
    capabilities = StoreCapabilities(atomic_replace=True, conditional_put=False, list_after_write=True)
    return open_store(
        Target(filesystem=fsspec.filesystem("memory"), root=root, url_prefix=f"memory:/{root}", capabilities=capabilities)
    )


@pytest.fixture(params=["local", "memory"])
def store(request):
    return request.getfixturevalue(request.param)
