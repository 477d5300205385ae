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
from rivet_core.references import resolve
from rivet_core.stores import open_store
from rivet_core.testing import DestinationConformance
from rivet_core.testing.conformance.plugin import PluginConformance
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
        {"buckets": "x"},
    ],
)
def test_identities_that_contradict_each_other_are_refused(keys):
    with pytest.raises(ValidationError):
        S3Options.model_validate({"bucket": "b", **keys})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"bucket": "s3://b"}, "name of the bucket alone"),
        ({"bucket": "a/b"}, "name of the bucket alone"),
        ({"bucket": ""}, "name of the bucket alone"),
        ({"endpoint": "minio:9000"}, "http:// or https://"),
        ({"endpoint": "https://user:pw@host"}, "without credentials"),
        ({"prefix": "a/../b"}, "must not hold `..`"),
        ({"prefix": ".."}, "must not hold `..`"),
    ],
)
def test_a_place_that_cannot_be_is_refused_in_words(keys, words):
    with pytest.raises(ValidationError, match=words):
        S3Options.model_validate({"bucket": "b", **keys})


def test_a_profile_that_is_not_there_is_named(tmp_path, monkeypatch):
    profiles(tmp_path, monkeypatch, config="[profile real]\nregion = eu-west-1\n")
    with pytest.raises(ConfigError, match="no profile 'imaginary'") as raised:
        open_s3(S3Options(bucket="b", aws_profile="imaginary"))
    assert "real" in raised.value.hint
    assert open_s3(S3Options(bucket="b", aws_profile="real")).root == "b"


def profiles(folder, monkeypatch, *, config="", credentials=""):
    (folder / "config").write_text(config)
    (folder / "credentials").write_text(credentials)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.s3
def test_a_profile_brings_keys_and_region(s3, s3_proxy, tmp_path, monkeypatch):
    keys = f"aws_access_key_id = {s3.access_key}\naws_secret_access_key = {s3.secret_key}\n"
    wrong = f"aws_access_key_id = {s3.access_key}\naws_secret_access_key = {WRONG}\n"
    profiles(
        tmp_path,
        monkeypatch,
        config="[profile lake]\nregion = eu-north-1\n[default]\nregion = us-west-2\n",
        credentials=f"[lake]\n{keys}[default]\n{wrong}",
    )
    where = {"bucket": s3.name, "endpoint": s3_proxy.url}
    open_store(open_s3(S3Options(**where, aws_profile="lake"))).put("a", b"1")
    assert s3.get("a") == b"1"
    assert s3_proxy.scopes == ["eu-north-1"]
    # Without a name it is the default one, whose secret is wrong here.
    with pytest.raises(DestinationError, match="permission denied"):
        open_store(open_s3(S3Options(**where))).put("b", b"1")
    assert s3.keys() == ["a"]


@pytest.mark.s3
@pytest.mark.parametrize("how", ["variables", "references"])
def test_keys_by_reference_and_a_region_reach_the_endpoint(s3, s3_proxy, how, tmp_path):
    where = {"bucket": s3.name, "endpoint": s3_proxy.url, "region": "eu-central-1"}
    (tmp_path / "secret").write_text(s3.secret_key + "\n")
    given = {
        "variables": {"access_key_env": "LAKE_KEY", "secret_key_env": "LAKE_SECRET"},
        "references": {"access_key_id": "${env:LAKE_KEY}", "secret_access_key": "${file:secret}"},
    }[how]
    environ = {"LAKE_KEY": s3.access_key, "LAKE_SECRET": s3.secret_key}
    chosen = resolve({**where, **given}, base=tmp_path, environ=environ)
    store = open_store(open_s3(S3Options.model_validate(chosen, context={"environ": environ})))
    store.replace("current.json", b"1", None)
    assert s3.get("current.json") == b"1"
    assert set(s3_proxy.scopes) == {"eu-central-1"}
    for secret in environ.values():
        assert secret not in repr(store.target)


@pytest.mark.s3
def test_nobody_signs_nothing(s3, s3_proxy):
    store = open_store(open_s3(S3Options(bucket=s3.name, endpoint=s3_proxy.url, allow_anonymous=True)))
    with pytest.raises(DestinationError, match="permission denied"):
        store.put("a", b"1")
    assert set(s3_proxy.scopes) == {""}


class TestConformance(DestinationConformance):
    """The kit that third parties use."""

    name = "s3"
    secret = WRONG

    @pytest.fixture
    def options(self, s3):
        keys = {"access_key_id": s3.access_key, "secret_access_key": s3.secret_key}
        return {"bucket": s3.name, "prefix": "kit", "endpoint": s3.endpoint, "region": s3.region, **keys}

    @pytest.fixture
    def refused(self, options):
        return {**options, "secret_access_key": WRONG}


class TestPlugin(PluginConformance):
    plugin = "s3"
    module = "rivet_s3"


def test_retries_are_nobodys_but_ours():
    filesystem = open_s3(S3Options(bucket="b", allow_anonymous=True, endpoint="http://127.0.0.1:9")).filesystem
    assert filesystem.retries == 1
    assert filesystem.config_kwargs["retries"]["total_max_attempts"] == 1
