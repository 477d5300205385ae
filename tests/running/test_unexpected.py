"""An exception that nobody foresaw fails its export, names its place, and never repeats what a driver said."""

from __future__ import annotations

import json

from rivet_core.running.reading import UnitReader


def test_the_words_of_a_foreign_exception_stay_out(shop, monkeypatch):
    def broken(self, unit):
        raise KeyError("postgresql://reader:hunter2@db/shop")

    monkeypatch.setattr(UnitReader, "read", broken)
    shop.config({"name": "orders", "table": "orders"})
    outcome = shop.apply()
    error = outcome.exports[0].error
    assert outcome.exit_code == 7
    assert error["message"].startswith("orders: KeyError at test_unexpected.py:")
    assert error["hint"]
    events = [event.as_dict() for event in shop.events]
    assert "hunter2" not in json.dumps([outcome.as_dict(), events], default=str)
    assert b"hunter2" not in (shop.root / ".rivet" / "state.db").read_bytes()
