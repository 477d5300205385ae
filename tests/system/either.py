"""One table `t` on either kind of server, planned and applied as a campaign."""

from __future__ import annotations

from typing import Any

import pytest

from rivet_core.testing.project import Project
from tests.system.campaigns import Campaign, counts, dataset

ENGINES = {"postgres": "postgres", "mariadb": "mysql"}


class Shop(Campaign):
    """A campaign over one table `t` of either kind of server; `kind` is the source's type."""

    def __init__(self, project: Project, database: Any, kind: str, monkeypatch: pytest.MonkeyPatch, url: str = "") -> None:
        super().__init__(project, url or database.url, monkeypatch)
        self.database = database
        self.kind = kind

    def sql(self, *statements: str) -> None:
        for statement in statements:
            self.database.execute(statement)

    def series(self, count: int, columns: str) -> str:
        """Return SELECT columns for n from 1 to count."""
        postgres = self.kind == "postgres"
        numbers = f"generate_series(1, {count}) s(n)" if postgres else f"(SELECT CAST(seq AS SIGNED) n FROM seq_1_to_{count}) s"
        return f"SELECT {columns} FROM {numbers}"

    def export(self, *, groups: dict[str, Any] | None = None, **keys: Any) -> None:
        """Write the config of one export of `t`."""
        source = {"type": self.kind, "url_env": "SHOP_URL", "source_group": "g"}
        more = {} if groups is None else {"source_groups": {"g": groups}}
        self.config({"name": "t", "table": "t", **keys}, source=source, **more)

    def run(self, **options: Any) -> list[dict[str, Any]]:
        """Run the export and return all rows of its dataset."""
        outcome = self.apply(**options)
        assert counts(outcome) == {"done": 1}, outcome.exports[0]
        return list(dataset(self, "t").to_pylist())

    def log(self) -> list[str]:
        """Return what our sessions sent."""
        return [str(statement) for statement in self.database.log.statements()]

    def cursor(self) -> list[dict[str, Any]]:
        shown = self.project.run("state", "show", "--json").json()
        return [one["cursor"] for one in shown["exports"] if one["export"] == "t"]

    def sessions(self, condition: str = "") -> list[tuple[Any, ...]]:
        """Return our sessions at the server: id, and the seconds of an open transaction or statement."""
        if self.kind == "postgres":
            query = (
                "SELECT pid, EXTRACT(epoch FROM clock_timestamp() - xact_start)::float8, state FROM pg_stat_activity"
                f" WHERE datname = current_database() AND application_name LIKE 'rivet/%' {condition}"
            )
        else:
            query = (
                "SELECT trx_mysql_thread_id, TIMESTAMPDIFF(MICROSECOND, trx_started, NOW(6)) / 1e6, trx_state"
                " FROM information_schema.INNODB_TRX JOIN information_schema.PROCESSLIST ON ID = trx_mysql_thread_id"
                f" WHERE DB = '{self.database.name}' {condition}"
            )
        return list(self.database.execute(query, admin=True))
