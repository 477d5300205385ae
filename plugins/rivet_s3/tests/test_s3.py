"""The `s3` destination against a store that checks signatures and conditions."""

from __future__ import annotations

import base64
import logging
import subprocess
import sys
from functools import partial
from urllib.parse import quote

import pytest
from pydantic import ValidationError

import rivet_s3
from rivet_core.errors import ConfigError, DestinationError
from rivet_core.stores import open_store
from rivet_s3.options import S3Options
from rivet_s3.target import open_s3

WRONG = "wrong/secret+of rivet=7"


def options(store, **more) -> S3Options:
    given = {"bucket": store.name, "prefix": "/a/b/", "endpoint": store.endpoint, "region": store.region}
    keys = {"access_key_id": store.access_key, "secret_access_key": store.secret_key}
    return S3Options(**{**given, **keys, **more})


@pytest.fixture
def target(s3):
    return open_s3(options(s3))


def test_the_hook_is_light():
    heavy = ("s3fs", "botocore", "pydantic")
    code = f"import rivet_s3, sys; rivet_s3.rivet_destinations(); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    (record,) = rivet_s3.rivet_destinations()
    assert record.name == "s3"


@pytest.mark.s3
def test_put_get_list_and_overwrite(s3, target):
    store = open_store(target)
    assert target.url_prefix == f"s3://{s3.name}/a/b"
    with store.write("x/run=1/part-0.parquet") as part:
        part.write(b"first")
        part.commit()
    assert s3.get("a/b/x/run=1/part-0.parquet") == b"first"
    store.put("x/run=1/part-0.parquet", b"second")
    assert s3.get("a/b/x/run=1/part-0.parquet") == b"second"
    assert [entry.key for entry in store.files("x")] == ["x/run=1/part-0.parquet"]
    assert s3.keys() == ["a/b/x/run=1/part-0.parquet"]


@pytest.mark.s3
def test_a_large_part_is_an_upload_that_shows_only_when_complete(s3, target):
    store = open_store(target)
    data = bytes(range(256)) * (40 << 12)  # 40 MiB: three pieces
    part = store.write("big")
    part.write(data)
    assert s3.keys() == []
    written = part.commit()
    assert written.bytes == len(data)
    assert s3.get("a/b/big") == data


@pytest.mark.s3
def test_o04_an_abandoned_upload_leaves_nothing(s3, target):
    store = open_store(target)

    def write_and_break():
        with store.write("big") as part:
            part.write(b"x" * (20 << 20))
            raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        write_and_break()
    uploads = s3.client().list_multipart_uploads(Bucket=s3.name)
    assert uploads.get("Uploads", []) == []
    assert s3.keys() == []


@pytest.mark.s3
def test_a_key_is_created_once_and_replaced_only_unchanged(s3, target):
    store = open_store(target)
    store.replace("current.json", b"1", None)
    with pytest.raises(Exception) as raised:
        store.replace("current.json", b"2", None)
    assert raised.value.exit_code == 6
    seen = store.current("current.json")
    store.replace("current.json", b"2", seen)
    with pytest.raises(Exception) as raised:
        store.replace("current.json", b"3", seen)
    assert raised.value.exit_code == 6
    assert s3.get("a/b/current.json") == b"2"


@pytest.mark.s3
@pytest.mark.parametrize("how", ["wrong secret", "wrong key", "no bucket"])
def test_g03_what_is_refused_is_said_without_the_secret(s3, how, caplog, capfd):
    caplog.set_level(logging.DEBUG, logger="rivet_core")
    more = {"wrong secret": {"secret_access_key": WRONG}, "wrong key": {"access_key_id": "NOBODY", "secret_access_key": WRONG},
            "no bucket": {"bucket": "no-such-bucket-here"}}[how]  # fmt: skip
    chosen = options(s3, **more)
    store = open_store(open_s3(chosen))
    # This store makes a missing bucket on the first put of an administrator; looking before writing shows it.
    act = store.check if how == "no bucket" else partial(store.put, "x", b"1")
    with pytest.raises(DestinationError) as raised:
        act()
    assert raised.value.hint
    assert not raised.value.transient
    assert raised.value.error_class == ("missing" if how == "no bucket" else "permission")
    out, err = capfd.readouterr()
    shown = " ".join([str(raised.value), raised.value.hint, caplog.text, out, err, repr(chosen)])
    for secret in (WRONG, quote(WRONG, safe=""), base64.b64encode(WRONG.encode()).decode(), s3.secret_key):
        assert secret not in shown


@pytest.mark.s3
def test_a_store_that_does_not_answer_is_transient(s3):
    store = open_store(open_s3(options(s3, endpoint="http://127.0.0.1:9")))
    with pytest.raises(DestinationError) as raised:
        store.put("x", b"1")
    assert raised.value.transient
    assert raised.value.error_class == "connection"


def test_keys_come_from_the_named_variables():
    chosen = S3Options.model_validate(
        {"bucket": "b", "access_key_env": "K", "secret_key_env": "S"}, context={"environ": {"K": "k1", "S": "s1"}}
    )
    assert chosen.credentials() == {"key": "k1", "secret": "s1"}
    unset = S3Options.model_validate(
        {"bucket": "b", "access_key_env": "K", "secret_key_env": "S"}, context={"environ": {"K": "k1"}}
    )
    with pytest.raises(ConfigError, match=r"environment variable S \(secret_key_env\)"):
        open_s3(unset)


@pytest.mark.parametrize(
    "keys",
    [
        {"access_key_env": "K"},
        {"secret_access_key": "s"},
        {"access_key_env": "K", "secret_key_env": "S", "aws_profile": "p"},
        {"access_key_env": "K", "access_key_id": "k", "secret_key_env": "S"},
        {"aws_profile": "p", "allow_anonymous": True},
        {"session_token_env": "T"},
        {"bucket": "a/b"},
        {"endpoint": "minio:9000"},
        {"endpoint": "https://user:pw@host"},
        {"buckets": "x"},
    ],
)
def test_identities_that_contradict_each_other_are_refused(keys):
    with pytest.raises(ValidationError):
        S3Options.model_validate({"bucket": "b", **keys})


def test_a_profile_that_is_not_there_is_named(tmp_path, monkeypatch):
    (tmp_path / "config").write_text("[profile real]\nregion = eu-west-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(DestinationError, match="no AWS profile 'imaginary'") as raised:
        open_s3(S3Options(bucket="b", aws_profile="imaginary"))
    assert "real" in raised.value.hint
    assert open_s3(S3Options(bucket="b", aws_profile="real")).root == "b"


def test_retries_are_nobodys_but_ours():
    filesystem = open_s3(S3Options(bucket="b", allow_anonymous=True, endpoint="http://127.0.0.1:9")).filesystem
    assert filesystem.retries == 1
    assert filesystem.config_kwargs["retries"]["total_max_attempts"] == 1
