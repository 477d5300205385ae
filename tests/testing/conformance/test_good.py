"""Core's own plugin passes the kit that third parties use."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from rivet_core.testing import (
    ClassifierConformance,
    DestinationConformance,
    PolicyConformance,
    SourceConformance,
)
from rivet_core.testing.conformance.table import create_sql, insert_sql, rows


class TestSqlite(SourceConformance):
    name = "sqlite"

    @pytest.fixture
    def database(self, tmp_path):
        return tmp_path / "shop.db"

    @pytest.fixture
    def options(self, database):
        return {"path": str(database)}

    @pytest.fixture
    def insert(self, database):
        def insert(found):
            with closing(sqlite3.connect(database)) as connection:
                connection.execute(insert_sql("items", found))
                connection.commit()

        return insert

    @pytest.fixture
    def table(self, database, insert):
        with closing(sqlite3.connect(database)) as connection:
            connection.execute(create_sql("items", timestamp="timestamp", text="text"))
        insert(rows())
        return "items"

    @pytest.fixture
    def refused(self, tmp_path):
        return {"path": str(tmp_path / "not there.db")}


class TestLocal(DestinationConformance):
    name = "local"

    @pytest.fixture
    def options(self, tmp_path):
        return {"path": str(tmp_path / "out")}

    @pytest.fixture
    def refused(self, tmp_path):
        (tmp_path / "a file").write_text("in the way")
        return {"path": str(tmp_path / "a file" / "out")}


class TestCatalogClassifier(ClassifierConformance):
    name = "catalog"


@pytest.fixture(params=["waves", "waves-bottleneck", "longest-first", "bottleneck", "fast-lane", "fifo", "priority"])
def policy_name(request):
    return request.param


class TestPolicies(PolicyConformance):
    @pytest.fixture
    def record(self, registry, policy_name):
        return registry.policies[policy_name].record
