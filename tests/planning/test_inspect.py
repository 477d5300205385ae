"""Asking the sources: a plugin's own fault marks its rows, and planning keeps within the declared connections."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rivet_core.api import SourceSpec
from rivet_core.config import GroupConfig, SourceConfig
from rivet_core.errors import SourceError
from rivet_core.facts import CatalogFacts, ExportSpec, ServerFacts, TableFacts, Unit, UnitKind
from rivet_core.options import PluginOptions
from rivet_core.planning.inspect import SourceView, inspect_sources
from rivet_core.plugins import PluginInfo, Registry, Status

SECRET = "postgresql://u:h0tp0tat0@h/db"


class Options(PluginOptions):
    """Where a third party's source fails."""

    fails: str = ""


class Session:
    """A third party's session that raises what its driver raised."""

    open_now = 0
    most_open = 0
    limits: list[int] = []
    guard = threading.Lock()

    def __init__(self, options: Options) -> None:
        self.fails = options.fails
        self.answer("connect")
        with Session.guard:
            Session.open_now += 1
            Session.most_open = max(Session.most_open, Session.open_now)

    def answer(self, step: str) -> None:
        if self.fails == step:
            raise KeyError(SECRET)

    def limit(self, connections: int) -> None:
        Session.limits.append(connections)

    def inspect(self, items: Any) -> CatalogFacts:
        self.answer("inspect")
        time.sleep(0.05)
        server = ServerFacts(engine="third", address="h:1")
        return CatalogFacts(server=server, tables={item.name: TableFacts(name=item.name) for item in items}, statements=1)

    def units(self, spec: Any, committed: Any) -> tuple[Unit, ...]:
        self.answer("units")
        return (Unit(index=0, kind=UnitKind.WHOLE),)

    def close(self) -> None:
        with Session.guard:
            Session.open_now -= 1
        self.answer("close")


@pytest.fixture(autouse=True)
def _counted() -> Iterator[None]:
    Session.open_now = Session.most_open = 0
    Session.limits = []
    yield
    assert Session.open_now == 0


def registry() -> Registry:
    record = SourceSpec(name="third", summary="somebody's", options=Options, connect=Session)
    plugin = PluginInfo(name="third", dist="third", version="1.0", api=1, status=Status.OK, hooks={"rivet_sources": (record,)})
    return Registry([plugin])


def views(*sources: SourceConfig, groups: dict[str, GroupConfig] | None = None) -> dict[str, SourceView]:
    exports = [ExportSpec(name=f"from_{source.name}", source=source.name, table="t") for source in sources]
    return inspect_sources({source.name: source for source in sources}, exports, {}, registry(), base=Path(), groups=groups)


def source(name: str, *, group: str | None = None, fails: str = "") -> SourceConfig:
    return SourceConfig(name=name, type="third", options={"fails": fails}, source_group=group)


@pytest.mark.parametrize("step", ["connect", "inspect", "units"])
def test_a_plugins_own_fault_marks_its_rows_without_its_words(step: str) -> None:
    found = views(source("bad", fails=step), source("good"))
    error = found["bad"].error or found["bad"].failures["from_bad"]
    assert isinstance(error, SourceError)
    assert "third" in error.message
    assert "KeyError" in error.message
    assert "h0tp0tat0" not in error.message + error.hint
    assert found["good"].units["from_good"]


def test_a_source_that_cannot_even_be_closed_was_still_read() -> None:
    assert views(source("bad", fails="close"))["bad"].units["from_bad"]


def test_sources_of_one_group_are_asked_one_after_another() -> None:
    names = ["a", "b", "c"]
    found = views(*(source(name, group="db") for name in names), groups={"db": GroupConfig(max_connections=1)})
    assert list(found) == names
    assert Session.most_open == 1
    assert Session.limits == [1, 1, 1]


def test_sources_apart_are_asked_side_by_side_over_two_connections() -> None:
    views(source("a"), source("b", group="db"), groups={"db": GroupConfig(max_connections=9)})
    assert Session.most_open == 2
    assert Session.limits == [2, 2]
