"""A shop with two exports, for commands that look at what was written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import yaml

ORDERS = {"name": "orders", "table": "orders", "mode": "incremental", "cursor_column": "updated_at"}
CUSTOMERS = {"name": "customers", "table": "customers", "keep_runs": 1}


class Shop:
    """`shop.db`, a config, and `out/` below one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        rows = ",".join(f"({i}, {i * 10}, '2024-01-01 00:00:{i:02d}')" for i in range(1, 51))
        self.sql(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER, updated_at TIMESTAMP);"
            f"CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO orders VALUES {rows};"
            "INSERT INTO customers VALUES (1, 'a'), (2, 'b');"
        )
        self.config(ORDERS, CUSTOMERS)

    def sql(self, script: str) -> None:
        with closing(sqlite3.connect(self.root / "shop.db")) as connection:
            connection.executescript(script)
            connection.commit()

    def config(self, *exports: dict[str, object]) -> None:
        data = {
            "source": {"type": "sqlite", "path": "shop.db"},
            "destination": {"type": "local", "path": "out"},
            "exports": list(exports),
        }
        (self.root / "rivet.yaml").write_text(yaml.safe_dump(data))

    def parts(self, export: str) -> list[Path]:
        return sorted((self.root / "out" / export).rglob("part-*"))
