from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

pytestmark = pytest.mark.s3


def test_an_object_comes_back(s3):
    s3.put("a/b.bin", b"\x00rivet")
    assert s3.get("a/b.bin") == b"\x00rivet"
    assert s3.keys() == ["a/b.bin"]
    assert s3.keys("c/") == []


def test_a_bucket_is_fresh(s3):
    assert s3.keys() == []


def test_a_wrong_signature_is_refused(s3):
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        s3.client(secret_key="wrong").put_object(Bucket=s3.name, Key="k", Body=b"x")


def test_a_conditional_write_does_not_overwrite(s3):
    s3.put("current.json", b"first")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.client().put_object(Bucket=s3.name, Key="current.json", Body=b"second", IfNoneMatch="*")
    assert s3.get("current.json") == b"first"


def test_many_buckets_fit_one_after_the_other(s3_server):
    for _ in range(12):
        bucket = s3_server.bucket()
        bucket.put("k", b"x" * 1000)
        assert bucket.get("k") == b"x" * 1000
        bucket.remove()
