"""A process that stood still for longer than its lease: whoever took the export over must find nothing changed under it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from rivet_core.errors import EXIT_BUSY
from rivet_core.running import ApplyOptions, apply_plan, ownership

ALL = "SELECT id, total FROM orders"


def take_lease_away(shop):
    """As if no heartbeat had come for a long time, of a process that cannot be looked at from here."""
    with closing(sqlite3.connect(shop.root / ".rivet" / "state.db")) as state:
        state.execute("UPDATE rivet_lease SET host = 'elsewhere', heartbeat_at = '2024-01-01T00:00:00.000000+00:00'")
        state.commit()


def contents(shop):
    return {path: path.read_bytes() for path in (shop.root / "out").rglob("*") if path.is_file()}


@pytest.mark.parametrize("resume", [True, False])
def test_what_was_resumed_elsewhere_is_left_alone(shop, monkeypatch, resume):
    monkeypatch.setattr(ownership, "TRUSTED_SECONDS", 0.0)
    shop.config({"name": "orders", "table": "orders", "mode": "chunked", "chunk_column": "id", "chunk_count": 3})
    found = {}

    def meanwhile(event):
        if event.kind == "unit_done" and not found:
            take_lease_away(shop)
            found["codes"] = shop.apply(resume=resume).exit_code
            found["files"] = contents(shop)
            shop.sql("UPDATE orders SET total = total + 1")

    outcome = apply_plan(shop.plan(), shop.registry, ApplyOptions(), meanwhile)
    assert found["codes"] == 0
    assert (outcome.exit_code, outcome.exports[0].error["code"]) == (EXIT_BUSY, "lease_lost")
    assert contents(shop) == found["files"]
    assert shop.rows("orders", "id", "total") == [(key, total - 1) for key, total in shop.source_rows(ALL)]
    with shop.state() as state:
        assert "failed" not in {run.status for run in state.histories()["orders"]}
        assert state.leases.holders() == {}
