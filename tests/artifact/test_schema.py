"""The published schema describes what is really written."""

from __future__ import annotations

import jsonschema

from rivet_core.artifact.schema import plan_schema
from rivet_core.testing.project import Project

OUT = "destination: {type: local, path: out}\n"


def test_a_real_plan_satisfies_the_schema(rivet: Project) -> None:
    import sqlite3

    with sqlite3.connect(rivet.path / "a.db") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    connection.close()
    rivet.config("source: {type: sqlite, path: a.db}\n" + OUT + "exports: [{name: t, table: t}, {name: gone, table: gone}]\n")
    plan = rivet.run("plan", "--json").json()
    jsonschema.Draft202012Validator(plan_schema()).validate(plan)
    assert {export["status"] for export in plan["exports"]} == {"planned", "unplannable"}
