"""A campaign over the test PostgreSQL, directly or through a proxy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rivet_core.testing.postgres_database import PostgresDatabase
from rivet_core.testing.project import Project
from rivet_core.testing.proxy import FaultProxy
from tests.system.campaigns import Campaign


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
