"""Credentials in options: what the plugin's own model declares secret never stands in a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field, Secret, SecretStr

from rivet_core.facts import Json
from rivet_core.options import PluginOptions
from rivet_core.planning.secrets import without_secrets
from rivet_core.sql.options import SqlOptions

CONFIG = Path("/conf/rivet.yaml")


class Login(PluginOptions):
    """A part of somebody's options."""

    user: str = ""
    pin: SecretStr | None = None


class Options(PluginOptions):
    """Somebody's options, whose names say nothing."""

    host: str = "h"
    phrase: SecretStr | None = None
    word: Annotated[SecretStr | None, Field(alias="magicWord")] = None
    login: Login | None = None
    logins: list[Login] = []
    spare: tuple[SecretStr, ...] = ()
    stamps: dict[str, SecretStr] = {}
    mirrors: dict[str, Login] = {}
    number: Secret[int] | None = None
    url: SecretStr | None = None
    access_key_id: SecretStr | None = None


def at(path: str) -> dict[str, Json]:
    return {"config": str(CONFIG), "key": f"sources.shop.{path}"}


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"host": "h", "phrase": "x"}, {"host": "h", "phrase": at("phrase")}),
        ({"phrase": "${PHRASE}"}, {"phrase": "${PHRASE}"}),
        ({"phrase": None}, {"phrase": None}),
        ({"number": 7}, {"number": at("number")}),
        ({"magicWord": "x"}, {"magicWord": at("magicWord")}),
        ({"login": {"user": "u", "pin": "x"}}, {"login": {"user": "u", "pin": at("login.pin")}}),
        ({"login": {"user": "u", "pin": 1234}}, {"login": {"user": "u", "pin": at("login.pin")}}),
        ({"logins": [{"user": "u"}]}, {"logins": [{"user": "u"}]}),
        ({"logins": [{"user": "u", "pin": "x"}]}, {"logins": at("logins")}),
        ({"spare": ["${A}", "x"]}, {"spare": at("spare")}),
        ({"stamps": {"a": "x", "b": "${B}"}}, {"stamps": {"a": at("stamps.a"), "b": "${B}"}}),
        ({"stamps": {"a.b": "x"}}, {"stamps": at("stamps")}),
        ({"mirrors": {"eu": {"user": "u", "pin": "x"}}}, {"mirrors": {"eu": {"user": "u", "pin": at("mirrors.eu.pin")}}}),
        ({"url": "third://u@h/d"}, {"url": "third://u@h/d"}),
        ({"access_key_id": "AKIA"}, {"access_key_id": "AKIA"}),
        ({"url": "third://u:p@h/d"}, {"url": at("url")}),
    ],
)
def test_declared_secrets_stay_in_the_config(options: dict[str, Json], kept: dict[str, Json]) -> None:
    assert without_secrets(options, config=CONFIG, key="sources.shop", model=Options) == kept


def test_databases_keep_what_tells_where_they_are() -> None:
    options: dict[str, Json] = {"url": "postgresql://u@h/d", "user": "u"}
    assert without_secrets(options, config=CONFIG, key="sources.shop", model=SqlOptions) == options
    assert without_secrets({"password": "x"}, config=CONFIG, key="sources.shop", model=SqlOptions) == {
        "password": at("password")
    }


def test_a_key_with_a_dot_takes_its_option_along() -> None:
    assert without_secrets({"headers": {"x.token": "x"}}, config=CONFIG, key="sources.shop") == {"headers": at("headers")}
