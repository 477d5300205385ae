"""Who shares a capacity, and how much of it there is."""

from __future__ import annotations

import pytest

from rivet_core.config import GroupConfig, SourceConfig
from rivet_core.facts import ExportSpec, ServerFacts
from rivet_core.planning.groups import capacity_of, group_of, hosts_in_two_groups

SOURCE = SourceConfig(name="shop", type="postgres", options={})
SERVER = ServerFacts(engine="postgres", address="db:5432", max_connections=20, used_connections=6)


def test_the_nearest_declaration_names_the_group() -> None:
    export = ExportSpec(name="a", source="shop", source_group="mine")
    declared = SourceConfig(name="shop", type="postgres", options={}, source_group="theirs")
    plain = ExportSpec(name="a", source="shop")
    assert group_of(export, declared, SERVER) == "mine"
    assert group_of(plain, declared, SERVER) == "theirs"
    assert group_of(plain, SOURCE, SERVER) == "db:5432"
    assert group_of(plain, SOURCE, None) == "shop"


@pytest.mark.parametrize(
    ("declared", "workers", "connections", "heavy", "assumed"),
    [
        (GroupConfig(max_connections=5, max_heavy=2), 4, 5, 2, False),
        (None, 4, 4, 1, True),
        (None, 40, 7, 1, True),
        (GroupConfig(max_heavy=3), 4, 4, 3, True),
        (GroupConfig(max_connections=5), 4, 5, 1, True),
    ],
)
def test_open_capacities_are_assumed(
    declared: GroupConfig | None, workers: int, connections: int, heavy: int, assumed: bool
) -> None:
    capacity = capacity_of(declared, [SERVER], workers)
    assert (capacity.max_connections, capacity.max_heavy, capacity.assumed) == (connections, heavy, assumed)


def test_a_full_server_still_gets_one_connection() -> None:
    full = ServerFacts(engine="postgres", max_connections=10, used_connections=10)
    assert capacity_of(None, [full], 4).max_connections == 1


def test_one_host_in_two_groups_is_warned_about() -> None:
    servers = {"a": SERVER, "b": SERVER}
    (warning,) = hosts_in_two_groups([("a", "x"), ("b", "y")], servers)
    assert "db:5432" in warning
    (warning,) = hosts_in_two_groups([("a", "x"), ("a", "x"), ("a", "its own"), ("elsewhere", "z")], servers)
    assert "its own, x" in warning
    assert hosts_in_two_groups([("a", "x"), ("b", "x")], servers) == []
