from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet_core.errors import EXIT_CONFIG, ConfigError
from rivet_core.references import find_inline_credentials, holds_reference, locate_state, resolve

BASE = Path("/nowhere")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("${A}", "one"),
        ("${env:A}", "one"),
        ("x-${A}-${env:B}-y", "x-one-two-y"),
        ("$${A}", "${A}"),
        ("$${env:A} ${A}", "${env:A} one"),
        ("$$${A}", "$${A}"),
        ("$A {A} $", "$A {A} $"),
        ("100% :b {c} $1", "100% :b {c} $1"),
        ("${EMPTY}", ""),
    ],
)
def test_references_expand(text: str, expected: str) -> None:
    assert resolve(text, base=BASE, environ={"A": "one", "B": "two", "EMPTY": ""}) == expected


def test_nested_values_expand_and_keys_stay() -> None:
    value = {"${A}": ["${A}", 1, None, True, {"k": "${A}"}]}
    assert resolve(value, base=BASE, environ={"A": "x"}) == {"${A}": ["x", 1, None, True, {"k": "x"}]}


@given(st.text(), st.text())
def test_what_a_reference_expands_to_is_never_expanded_again(inner: str, other: str) -> None:
    environ = {"A": f"${{B}}{inner}${{env:B}}$${{B}}", "B": other}
    assert resolve("<${A}>", base=BASE, environ=environ) == f"<{environ['A']}>"


@given(st.text())
def test_escaped_text_comes_back_as_it_was(text: str) -> None:
    assert resolve(text.replace("${", "$${"), base=BASE, environ={}) == text


@given(st.text(alphabet="${}abc:_ ", max_size=40))
def test_any_text_resolves_or_is_refused(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(resolve(text, base=BASE, environ={"a": "1", "abc": "2"}), str)


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIVET_TEST_REFERENCE", "here")
    assert resolve("${RIVET_TEST_REFERENCE}", base=BASE) == "here"


@pytest.mark.parametrize(
    ("content", "expected"),
    [("secret\n", "secret"), ("secret\r\n", "secret"), ("a\n\n", "a\n"), (" a ", " a "), ("${A}", "${A}")],
)
def test_files_lose_one_line_break_and_nothing_else(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "key").write_bytes(content.encode())
    assert resolve("${file:key}", base=tmp_path, environ={"A": "no"}) == expected
    assert resolve(f"${{file:{tmp_path / 'key'}}}", base=BASE, environ={}) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("${MISSING}", "MISSING"),
        ("${env:MISSING}", "MISSING"),
        ("${file:absent.txt}", "absent.txt"),
        ("${file:.}", "directory"),
        ("${file:a\0b}", "null"),
        ("${file:~no_such_user_here/x}", "~no_such_user_here"),
        ("${}", "${}"),
        ("${env:}", "${env:}"),
        ("${file:}", "${file:}"),
        ("${A-b}", "${A-b}"),
        ("${A:-default}", "${A:-default}"),
        ("${aws:x}", "${aws:x}"),
        ("open ${A", "no closing"),
    ],
)
def test_a_reference_that_does_not_resolve_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(text, base=tmp_path, environ={"A": "x"})
    assert named in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == EXIT_CONFIG


def test_a_file_that_is_no_text_or_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large").write_bytes(b"x" * ((1 << 20) + 1))
    for name, word in (("binary", "UTF-8"), ("large", "larger")):
        with pytest.raises(ConfigError, match=word):
            resolve(f"${{file:{name}}}", base=tmp_path, environ={})


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to("key")
    with pytest.raises(ConfigError, match=r"key .*: too many levels of symbolic links"):
        resolve("${file:key}", base=tmp_path, environ={})


def test_errors_show_no_other_reference() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("${SECRET}${MISSING}", base=BASE, environ={"SECRET": "hunter2"})
    assert "hunter2" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ("${A}", True),
        ("$${A}", False),
        ("$${A}${B}", True),
        ("a$b", False),
        (["x", {"k": "${A}"}], True),
        ({"${A}": 1}, False),
        (3, False),
    ],
)
def test_references_are_seen(value: object, holds: bool) -> None:
    assert holds_reference(value) is holds  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"url": "postgresql://u:p@h/db"}, ("url",)),
        ({"url": "postgresql://u:p@w@h/db"}, ("url",)),
        ({"url": "postgresql://u:p%20w@h/db"}, ("url",)),
        ({"url": "postgresql://u:${PW}@h/db"}, ()),
        ({"url": "postgresql://u:@h/db"}, ()),
        ({"url": "postgresql://u@h:5432/db"}, ()),
        ({"url": "postgresql://h:5432/db"}, ()),
        ({"url": "postgresql://h/db?user=u&password=x"}, ("url",)),
        ({"url": "postgresql://h/db?password=${PW}"}, ()),
        ({"url": "host=h user=u password=x"}, ("url",)),
        ({"url": "host=h user=u password='a b'"}, ("url",)),
        ({"url": "${env:URL}"}, ()),
        ({"url_env": "URL", "password_env": "PW", "url_file": "/x"}, ()),
        ({"password": "x"}, ("password",)),
        ({"password": 12345}, ("password",)),
        ({"password": "${PW}"}, ()),
        ({"password": "$${PW}"}, ("password",)),
        ({"password": ""}, ()),
        ({"secret_access_key": "x", "access_key_id": "AKIA"}, ("secret_access_key",)),
        ({"secret_key_env": "X", "access_key_env": "Y", "credentials_file": "z.json"}, ()),
        ({"account_key": "x", "sas_token": "y"}, ("account_key", "sas_token")),
        ({"tls": {"key_password": "x", "mode": "require"}}, ("tls.key_password",)),
        ({"hosts": ["postgresql://u:p@h/db"]}, ("hosts",)),
        ({"hosts": ["x", {"password": "y"}], "tokens": ["a"]}, ("hosts", "tokens")),
        ({"auth": "u:p", "Authorization": "x", "bearer": "y", "apikey": "z"}, ("auth", "Authorization", "bearer", "apikey")),
        ({"headers": {"x-api-key": "x", "accept": "*/*"}}, ("headers.x-api-key",)),
        ({"author": "x", "auth_method": "scram", "authorization_url": "https://h", "api_key_id": "y", "require_auth": "z"}, ()),
        ({"path": "./out", "bucket": "b", "compass": "north", "database": "tokens"}, ()),
    ],
)
def test_inline_credentials_are_found(options: dict[str, object], keys: tuple[str, ...]) -> None:
    assert find_inline_credentials(options) == keys  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "located"),
    [
        ("sqlite:///.rivet/state.db", "sqlite:////conf/.rivet/state.db"),
        ("sqlite:///../s.db", "sqlite:////s.db"),
        ("sqlite:////var/s.db", "sqlite:////var/s.db"),
        ("postgresql://u@h/db", "postgresql://u@h/db"),
        ("postgresql+psycopg://u@h/db", "postgresql+psycopg://u@h/db"),
        ("${env:STATE}", "${env:STATE}"),
    ],
)
def test_state_is_relative_to_the_config(url: str, located: str) -> None:
    assert locate_state(url, Path("/conf")) == located


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "mysql://h/db", "state.db", "sqlite:state.db", "sqlite://state.db"]
)
def test_other_states_are_refused(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        locate_state(url, Path("/conf"))
    assert caught.value.hint
