"""The second pass: options that belong to plugins, with their lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, model_validator

from rivet_core.api import DestinationSpec, SourceSpec
from rivet_core.config import CampaignConfig, check_plugin_keys
from rivet_core.errors import EXIT_CONFIG, EXIT_PLUGIN, ConfigError, PluginError
from rivet_core.options import ConfigPath, PluginOptions

Load = Callable[..., CampaignConfig]


class TlsOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")
    mode: Literal["disable", "require"] = "require"


class FileOptions(PluginOptions):
    path: ConfigPath


class ServerOptions(PluginOptions):
    url: str | None = None
    host: str | None = None
    port: int | None = None
    tls: TlsOptions | None = None

    @model_validator(mode="after")
    def _one(self) -> ServerOptions:
        if (self.url is None) == (self.host is None):
            raise ValueError("give url or host")
        if self.host == "nowhere":
            raise ConfigError("nowhere is no host", hint="name one")
        return self


@dataclass(frozen=True)
class Owned:
    record: Any


def never() -> None:
    raise AssertionError("nothing is opened by a check")


@dataclass(frozen=True)
class Offers:
    """Records by type, as a registry holds them; references are objects already."""

    sources: dict[str, Owned] = field(
        default_factory=lambda: {
            "sqlite": Owned(SourceSpec(name="sqlite", summary="", options=FileOptions, connect=never)),
            "server": Owned(SourceSpec(name="server", summary="", options=ServerOptions, connect=never)),
        }
    )
    destinations: dict[str, Owned] = field(
        default_factory=lambda: {"local": Owned(DestinationSpec(name="local", summary="", options=FileOptions, open=never))}
    )

    def resolve(self, ref: Any) -> Any:
        return ref


def check(load: Load, source: str, destination: str = "type: local, path: o", export: str = "") -> None:
    text = f"source:\n  {{{source}}}\ndestination:\n  {{{destination}}}\nexports:\n  - {{name: a, table: a{export}}}\n"
    check_plugin_keys(load(text), Offers())


@pytest.mark.parametrize(
    "source",
    [
        "type: sqlite, path: a.db",
        "type: server, url: x, port: 5",
        "type: server, url: '${URL}', port: '${PORT}'",
        "type: server, host: '${HOST}', tls: {mode: '${MODE}'}",
        "type: server, tls: {mode: '${MODE}'}",
        "type: server, url: x, environment: local, source_group: g, tuning: {profile: fast}",
    ],
)
def test_what_a_plugin_takes_passes_and_references_wait(load: Load, source: str) -> None:
    check(load, source)


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("type: sqlite, paht: a.db", "2: source.paht: unknown key", "did you mean `path`?"),
        ("type: sqlite", "1: source.path: is missing", "add `path:`"),
        ("type: server, url: x, prot: 5", "2: source.prot: unknown key", "did you mean `port`?"),
        ("type: server, url: x, tunning: {}", "2: source.tunning: unknown key", "did you mean `tuning`?"),
        ("type: server, url: x, zzz: 5", "2: source.zzz: unknown key", "valid keys: "),
        ("type: server, url: x, tls: {mdoe: disable}", "2: source.tls.mdoe: unknown key", "did you mean `mode`?"),
        (
            "type: server, url: x, tls: {mode: dsable}",
            "2: source.tls.mode: must be one of disable, require",
            "did you mean `disable`?",
        ),
        ("type: server, url: x, tls: true", "2: source.tls: must be a mapping", ""),
        ("type: server, url: x, port: many", "2: source.port: ", ""),
        ("type: server, url: x, host: y", "1: source: give url or host", ""),
        ("type: server, host: nowhere", "1: source: nowhere is no host", "name one"),
        ("type: server, host: '${H}', prot: 5", "2: source.prot: unknown key", "did you mean `port`?"),
    ],
)
def test_refused_with_its_line(load: Load, source: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(load, source)
    _, _, found = caught.value.message.partition("rivet.yaml:")
    assert found.startswith(message)
    assert hint in caught.value.hint
    assert caught.value.exit_code == EXIT_CONFIG


def test_values_of_plugins_are_never_shown(load: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        check(load, "type: server, url: hunter2, port: hunter2, tls: {mode: hunter2}")
    assert "hunter2" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("source", "destination", "export", "message", "hint"),
    [
        (
            "type: postgres, url: x",
            "type: local, path: o",
            "",
            "2: source.type: unknown source type postgres",
            "pip install rivet-postgres",
        ),
        (
            "type: mariadb, url: x",
            "type: local, path: o",
            "",
            "2: source.type: unknown source type mariadb",
            "pip install rivet-mysql",
        ),
        (
            "type: sqlte, path: x",
            "type: local, path: o",
            "",
            "2: source.type: unknown source type sqlte",
            "did you mean `sqlite`?",
        ),
        ("type: db2, path: x", "type: local, path: o", "", "2: source.type: unknown source type db2", "rivet plugins new"),
        (
            "type: mssql, url: x",
            "type: local, path: o",
            "",
            "2: source.type: unknown source type mssql",
            "no plugin of rivet's own",
        ),
        (
            "type: sqlite, path: x",
            "type: s3, bucket: o",
            "",
            "4: destination.type: unknown destination type s3",
            "pip install rivet-s3",
        ),
        (
            "type: sqlite, path: x",
            "type: local, path: o",
            ", destination: {type: gcs}",
            "6: exports[0].destination.type: unknown destination type gcs",
            "type: fsspec with its URL",
        ),
    ],
)
def test_types_that_are_not_installed(load: Load, source: str, destination: str, export: str, message: str, hint: str) -> None:
    with pytest.raises(PluginError) as caught:
        check(load, source, destination, export)
    assert caught.value.message.partition("rivet.yaml:")[2].startswith(message)
    assert hint in caught.value.hint
    assert caught.value.exit_code == EXIT_PLUGIN
    promised = {word.strip(",;") for word in caught.value.hint.split() if word.startswith("rivet-")}
    assert promised <= {"rivet-postgres", "rivet-mysql", "rivet-s3"}, "a package of that name does not exist"


def test_destinations_of_exports_are_checked_where_they_stand(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"rivet.yaml:6: exports\[0\].destination.pth: unknown key"):
        check(load, "type: sqlite, path: x", "type: local, path: o", ", destination: {pth: x}")
    with pytest.raises(ConfigError, match=r"rivet.yaml:4: destination.pth: unknown key"):
        check(load, "type: sqlite, path: x", "type: local, path: o, pth: 3")
