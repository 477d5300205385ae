"""The second store: it keeps what it is given, checks signatures, and takes no notice of conditions."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from rivet_core.testing.rclone import RcloneServer


@pytest.fixture
def bucket():
    server = RcloneServer.create()
    try:
        yield server.bucket()
    finally:
        server.remove()


def test_it_is_a_store_without_conditional_writes(bucket):
    bucket.put("a/b", b"1")
    bucket.client().put_object(Bucket=bucket.name, Key="a/b", Body=b"2", IfNoneMatch="*")
    assert (bucket.get("a/b"), bucket.keys(), bucket.uploads()) == (b"2", ["a/b"], [])
    bucket.client().create_multipart_upload(Bucket=bucket.name, Key="c")
    assert bucket.uploads() == ["c"]
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        bucket.client(secret_key="wrong").put_object(Bucket=bucket.name, Key="d", Body=b"")
