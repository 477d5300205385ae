"""digest(files) == digest(database) for every type of every engine, in Parquet and in CSV, whole and in chunks."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.system import every_type

CONFIG = """
source: {source}
destination: {{type: local, path: ./out}}
exports:
  - {{name: whole, table: t}}
  - {{name: chunks, table: t, mode: chunked, chunk_column: id, chunk_count: 3}}
  - {{name: text, table: t, format: csv}}
"""
SEEDS = (1, 2)


def reconciled(rivet, source):
    rivet.config(CONFIG.format(source=source))
    rivet.run("run", "-q").assert_done()
    said = rivet.run("reconcile", "--json").assert_done().json()
    return {item["export"]: item for item in said["exports"]}


@pytest.mark.parametrize("seed", SEEDS)
def test_postgres(rivet, postgres, seed):
    postgres.execute(every_type.POSTGRES_TYPES)
    postgres.execute(";".join(every_type.statements(every_type.POSTGRES, rows=60, seed=seed)))
    rivet.environ["SHOP_URL"] = postgres.url
    found = reconciled(rivet, "{type: postgres, url_env: SHOP_URL}")
    assert {name: item["result"] for name, item in found.items()} == {"whole": "match", "chunks": "match", "text": "partial"}
    lists = [f"c{number}" for number, kind in enumerate(every_type.POSTGRES) if kind.endswith("[]")]
    assert found["text"]["left_out"] == lists, "lists are JSON in CSV, which has no canonical text"
    assert len(found["chunks"]["units"]) == 3


@pytest.mark.parametrize("seed", SEEDS)
def test_mariadb(rivet, mysql, seed):
    for statement in every_type.statements(every_type.MARIADB, rows=60, seed=seed, null=" NULL"):
        mysql.execute(statement)
    rivet.environ["CRM_URL"] = mysql.url
    found = reconciled(rivet, "{type: mysql, url_env: CRM_URL}")
    assert {name: (item["result"], item["left_out"]) for name, item in found.items()} == {
        "whole": ("match", []),
        "chunks": ("match", []),
        "text": ("match", []),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_sqlite(rivet, seed):
    with closing(sqlite3.connect(rivet.path / "shop.db")) as connection:
        connection.executescript(";".join(every_type.statements(every_type.SQLITE, rows=60, seed=seed)))
        connection.commit()
    found = reconciled(rivet, "{type: sqlite, path: shop.db}")
    assert {item["result"] for item in found.values()} == {"match"}
