from __future__ import annotations

import base64
import urllib.parse

import pytest
from pydantic import ValidationError

from rivet_core.errors import ConfigError
from rivet_core.sql.options import SqlOptions
from rivet_core.sql.secrets import Secret, mask

PASSWORD = "p@ss/w:rd '1\\"


class PgOptions(SqlOptions):
    schemes = ("postgresql", "postgres")
    default_port = 5432


def load(environ=None, base=".", **keys):
    return PgOptions.model_validate(keys, context={"base": base, "environ": environ or {}})


def test_url_components_are_decoded():
    quoted = urllib.parse.quote(PASSWORD, safe="")
    end = load(url=f"postgresql://us%40er:{quoted}@db.example:6000/my%20db?sslmode=require").endpoint()
    assert (end.host, end.port, end.user, end.database) == ("db.example", 6000, "us@er", "my db")
    assert end.password is not None
    assert end.password.reveal() == PASSWORD
    assert end.parameters == {"sslmode": "require"}
    assert end.address == "db.example:6000"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u@/db?host=/run/pg&port=5433",
        "postgresql://u@%2Frun%2Fpg:5433/db",
        "postgres:///db?host=%2Frun%2Fpg&port=5433&user=u",
    ],
)
def test_g04_unix_sockets(url):
    end = load(url=url).endpoint()
    assert (end.host, end.port, end.user, end.database, end.is_socket) == ("/run/pg", 5433, "u", "db", True)


def test_g04_socket_as_field_and_no_tls_over_it():
    assert load(host="/run/pg", user="u", database="d").endpoint().is_socket
    with pytest.raises(ConfigError, match="socket"):
        load(host="/run/pg", tls={"mode": "verify-full"}).endpoint()


def test_ipv6():
    assert load(url="postgresql://u@[::1]:5433/d").endpoint().address == "[::1]:5433"


def test_references_are_read_when_opened(tmp_path):
    (tmp_path / "url").write_text("postgresql://u@h/filedb\n")
    assert load(base=tmp_path, url_file="url").endpoint().database == "filedb"
    assert load({"U": "postgresql://u@h/envdb"}, url_env="U").endpoint().database == "envdb"
    missing = load(url_env="NOPE")
    with pytest.raises(ConfigError, match="NOPE"):
        missing.endpoint()
    with pytest.raises(ConfigError, match="PWD_UNSET"):
        load(host="h", password_env="PWD_UNSET").endpoint()
    with pytest.raises(ConfigError, match="cannot be read"):
        load(base=tmp_path, url_file="absent").endpoint()


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"url": "postgresql://h/d", "url_env": "X"},
        {"url_env": "X", "host": "h"},
        {"host": "h", "password": "a", "password_env": "B"},
        {"host": "h", "prot": 1},
        {"host": "h", "tls": {"mode": "on"}},
    ],
)
def test_forms_that_exclude_each_other(keys):
    with pytest.raises(ValidationError):
        load(**keys)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:s3cret@h/d",
        "s3cret",
        "postgresql://u:p#s3cret@h/d",
        "postgresql://u:a:s3cret@h:x/d",
        "postgresql://s3cret@h:99999/",
    ],
)
def test_a_bad_url_is_never_shown(url):
    options = load(url=url)
    assert "s3cret" not in repr(options)
    try:
        shown = repr(options.endpoint())
    except ConfigError as error:
        shown = f"{error.message} {error.hint}"
        assert "s3cret" not in shown


def test_secret_in_no_repr_and_masked_in_every_form():
    options = load(host="h", user="u", password=PASSWORD, database="d")
    end = options.endpoint()
    assert PASSWORD not in repr(options) + repr(end) + str(end)
    forms = [PASSWORD, urllib.parse.quote(PASSWORD, safe=""), base64.b64encode(PASSWORD.encode()).decode()]
    text = end.clean(" | ".join(forms))
    assert not any(form in text for form in forms)


def test_secret_compares_by_value():
    assert Secret("a") == Secret("a") != Secret("b")
    assert mask("nothing", (None, Secret(""))) == "nothing"


def test_tls_switches_lower_the_mode():
    assert load(host="h", tls={"ca_file": "ca.pem"}).endpoint().tls.mode == "verify-full"
    assert load(host="h", tls={"accept_invalid_certs": True}).endpoint().tls.mode == "require"
    assert load(host="h", tls={"accept_invalid_hostnames": True}).endpoint().tls.mode == "verify-ca"
