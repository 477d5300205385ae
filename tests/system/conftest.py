"""A campaign over the test PostgreSQL, directly or through a proxy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project
from rivet_core.testing.proxy import FaultProxy
from tests.system.campaigns import Campaign
from tests.system.either import ENGINES, Shop


@pytest.fixture
def shop(rivet: Project, postgres: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    return Campaign(rivet, postgres.url, monkeypatch)


@pytest.fixture
def proxied(
    rivet: Project,
    postgres: PostgresDatabase,
    fault_proxy: Callable[[str, int], FaultProxy],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Campaign, FaultProxy]:
    proxy = fault_proxy(postgres.host, postgres.port)
    return Campaign(rivet, postgres.url_with(port=proxy.port), monkeypatch), proxy


@pytest.fixture(params=list(ENGINES))
def any_shop(request: pytest.FixtureRequest, rivet: Project, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A campaign over one table, on each kind of server."""
    kind = ENGINES[request.param]
    return Shop(rivet, request.getfixturevalue(kind), kind, monkeypatch)


@pytest.fixture(params=list(ENGINES))
def any_proxied(
    request: pytest.FixtureRequest,
    rivet: Project,
    fault_proxy: Callable[[str, int], FaultProxy],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Shop, FaultProxy]:
    """The same through a proxy that breaks connections."""
    kind = ENGINES[request.param]
    database = request.getfixturevalue(kind)
    proxy = fault_proxy(database.host, database.port)
    return Shop(rivet, database, kind, monkeypatch, database.url_with(port=proxy.port)), proxy
