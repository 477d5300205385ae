"""The conformance kit, as every plugin author runs it."""

from __future__ import annotations

import pytest

from rivet_core.testing.conformance.plugin import PluginConformance
from rivet_core.testing.conformance.source import SourceConformance
from rivet_core.testing.conformance.table import rows


class TestPlugin(PluginConformance):
    plugin = "postgres"
    module = "rivet_postgres"


class TestSource(SourceConformance):
    name = "postgres"
    secret = "not-the-password-9Z"

    @pytest.fixture
    def options(self, database):
        return {"url": database.url}

    @pytest.fixture
    def table(self, database, insert):
        database.execute("CREATE TABLE t (id int PRIMARY KEY, label text, changed_at timestamp NOT NULL)")
        insert(rows())
        return "public.t"

    @pytest.fixture
    def insert(self, database):
        def add(more):
            with database.connect() as connection, connection.cursor() as cursor:
                cursor.executemany("INSERT INTO t VALUES (%s, %s, %s)", [(r.id, r.label, r.changed_at) for r in more])

        return add

    @pytest.fixture
    def refused(self, database):
        return {"url": database.url_with(password=self.secret)}
