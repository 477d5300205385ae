"""The conformance kit, as every plugin author runs it."""

from __future__ import annotations

import pytest

from rivet_core.testing.conformance.plugin import PluginConformance
from rivet_core.testing.conformance.source import SourceConformance
from rivet_core.testing.conformance.table import create_sql, insert_sql, rows


class TestPlugin(PluginConformance):
    plugin = "mysql"
    module = "rivet_mysql"


class TestSource(SourceConformance):
    name = "mysql"
    secret = "not-the-password-9Z"

    @pytest.fixture
    def options(self, mysql):
        return {"url": mysql.url}

    @pytest.fixture
    def table(self, mysql, insert):
        mysql.execute(create_sql("t", timestamp="datetime(6)"))
        insert(rows())
        return "t"

    @pytest.fixture
    def insert(self, mysql):
        def add(more):
            mysql.execute(insert_sql("t", more, backslash_escapes=True))

        return add

    @pytest.fixture
    def refused(self, mysql):
        return {"url": mysql.url.replace(":" + mysql.password, ":" + self.secret)}
