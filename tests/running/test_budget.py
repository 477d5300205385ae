"""A source that cannot follow what the budget says: nothing stays taken, the campaign ends, its exports say why."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import pytest

from rivet_core.api import SourceSpec
from rivet_core.builtin.sqlite.options import SqliteOptions
from rivet_core.builtin.sqlite.session import SqliteSession
from rivet_core.errors import PluginError
from rivet_core.facts import Capacities, GroupCapacity
from rivet_core.plugins import PluginInfo, Registry, Status
from rivet_core.running.budget import ConnectionBudget, Reservation
from rivet_core.running.outcome import DONE, FAILED
from rivet_core.state import open_state


class Stubborn(SqliteSession):
    """Breaks whenever it may have more than `most` connections, and when it should have none while `clings` is set."""

    most = 1
    clings = False

    def limit(self, connections: int) -> None:
        if connections > self.most or (self.clings and not connections):
            raise ValueError(f"not {connections}, postgresql://rivet:geheim@db/shop")
        super().limit(connections)


def connect(options: SqliteOptions) -> Stubborn:
    return Stubborn(options.database())


@pytest.fixture
def budget(tmp_path: Path):
    capacities = Capacities(workers=4, groups={"g": GroupCapacity(max_connections=3, max_heavy=1)})
    (tmp_path / "a.db").touch()
    with open_state("sqlite:///state.db", base=tmp_path) as state, closing(Stubborn(tmp_path / "a.db")) as session:
        found = ConnectionBudget(capacities, state.leases)
        found.join("a", session)
        yield found, state, session


def test_a_limit_that_raises_leaves_nothing_taken(budget):
    found, state, session = budget
    with pytest.raises(PluginError, match=r"source a failed to limit its connections: ValueError at test_budget.py:\d+$"):
        found.reserve("export:x", "g", "a", 3, heavy=True)
    assert state.leases.holders() == {}
    session.most = 3
    again = found.reserve("export:x", "g", "a", 3, heavy=True)
    assert isinstance(again, Reservation)
    assert len(state.leases.holders()) == 5


def test_what_cannot_be_closed_keeps_its_slot_and_the_lease_ends(budget):
    found, state, session = budget
    session.clings = True
    held = found.reserve("export:x", "g", "a", 1)
    assert isinstance(held, Reservation)
    found._wanted = frozenset({"g"})
    found.give_back(held)
    found.recall()
    assert list(state.leases.holders()) == ["slot:connections:g:0"]
    session.clings = False
    assert isinstance(found.reserve("export:y", "g", "a", 1), Reservation)


def test_the_lease_of_an_export_that_ended_goes_with_the_next_one_or_at_the_next_look(budget):
    found, state, session = budget
    session.most = 3
    first = found.reserve("export:x", "g", "a", 1)
    assert isinstance(first, Reservation)
    found.give_back(first)
    second = found.reserve("export:y", "g", "a", 1)
    assert isinstance(second, Reservation)
    assert set(state.leases.holders()) == {"export:y", "slot:connections:g:0"}
    found.give_back(second)
    found.recall()
    assert set(state.leases.holders()) == {"slot:connections:g:0"}


def test_a_heavy_slot_is_free_as_soon_as_its_export_ended(budget):
    """The dispatcher starts the next heavy export at once: a slot that is still taken would make it wait."""
    found, _, session = budget
    session.most = 3
    first = found.reserve("export:x", "g", "a", 1, heavy=True)
    assert isinstance(first, Reservation)
    found.give_back(first)
    assert isinstance(found.reserve("export:y", "g", "a", 1, heavy=True), Reservation)


def test_a_campaign_whose_source_cannot_follow_ends(shop, monkeypatch):
    stubborn = SourceSpec(name="stubborn", summary="", options=SqliteOptions, connect=connect)
    plugin = PluginInfo(
        name="stubborn", dist="rivet-stubborn", version="1.0", api=1, status=Status.OK, hooks={"rivet_sources": (stubborn,)}
    )
    shop.registry = Registry([*shop.registry.plugins, plugin])
    shop.config(
        {"name": "wide", "table": "customers", "mode": "chunked", "chunk_size": 10, "parallel": 3},
        {"name": "narrow", "table": "orders"},
        source={"type": "stubborn", "path": "shop.db", "source_group": "g"},
        source_groups={"g": {"max_connections": 3}},
        planning={"workers": 1},
    )
    found = []
    monkeypatch.setattr(Stubborn, "most", 3)
    plan = shop.plan()
    monkeypatch.setattr(Stubborn, "most", 1)
    thread = threading.Thread(target=lambda: found.append(shop.apply(plan)), daemon=True)
    thread.start()
    thread.join(30)
    assert found, "the campaign hangs"
    by_name = {export.name: export for export in found[0].exports}
    assert (by_name["wide"].status, by_name["narrow"].status) == (FAILED, DONE)
    assert by_name["wide"].error["code"] == "plugin_failed"
    assert "geheim" not in str([event.as_dict() for event in shop.events]) + str(found[0].as_dict())
    with shop.state() as state:
        assert state.leases.holders() == {}
