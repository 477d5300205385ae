"""A plugin's own exception during a run fails the exports of its source or destination, and shows its type alone."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from rivet_core.builtin.sqlite.session import SqliteSession

SECRET = "postgresql://u:h0tp0tat0@h/db"
EXPORT = {"name": "customers", "table": "customers"}


def failing(*arguments, **more):
    raise KeyError(SECRET)


@pytest.mark.parametrize("step", ["probe", "inspect"])
def test_a_source_whose_driver_raises(shop, monkeypatch, step):
    shop.config(EXPORT)
    plan = shop.plan()
    monkeypatch.setattr(SqliteSession, step, failing)
    outcome = shop.apply(plan)
    (export,) = outcome.exports
    assert export.status in ("failed", "not_started")
    assert outcome.exit_code not in (0, 7)
    assert "source type sqlite" in export.error["message"]
    assert export.error["message"].endswith(": KeyError")
    assert "h0tp0tat0" not in repr(outcome) + repr(shop.events)


def test_a_destination_whose_filesystem_raises(shop, monkeypatch):
    shop.config(EXPORT, destination={"type": "fsspec", "url": "memory://out"})
    plan = shop.plan()
    monkeypatch.setattr("rivet_core.stores.objects.ObjectStore.check", failing)
    outcome = shop.apply(plan)
    (export,) = outcome.exports
    assert export.status in ("failed", "not_started")
    assert "destination type fsspec failed: KeyError" in export.error["message"]
    assert "h0tp0tat0" not in repr(outcome) + repr(shop.events)


def test_a_source_whose_exports_are_of_several_groups_is_opened_once_and_closed(shop, monkeypatch):
    shop.config(EXPORT, {"name": "orders", "table": "orders", "source_group": "aside"})
    plan = shop.plan()
    assert len({export.source_group for export in plan.exports}) == 2
    opened, closed = [], []
    monkeypatch.setattr(SqliteSession, "__init__", noting(opened, SqliteSession.__init__))
    monkeypatch.setattr(SqliteSession, "close", noting(closed, SqliteSession.close))
    assert shop.apply(plan).exit_code == 0
    assert len(opened) == 1
    assert set(closed) == set(opened)


def test_a_pause_ends_also_where_only_exports_name_the_group(shop, monkeypatch):
    shop.config({**EXPORT, "source_group": "aside"}, source_groups={"aside": {"max_lock_waits": 0}})
    plan = shop.plan()
    (source,) = plan.sources.values()
    assert source.group not in plan.source_groups
    waits = iter([1] * 4)  # it is asked twice when it is opened

    def probe(self, asked=SqliteSession.probe):
        return replace(asked(self), lock_waits=next(waits, 0))

    monkeypatch.setattr(SqliteSession, "probe", probe)
    codes = []
    campaign = threading.Thread(target=lambda: codes.append(shop.apply(plan).exit_code), daemon=True)
    campaign.start()
    campaign.join(20)
    assert codes == [0]


def noting(seen, method):
    def noted(self, *arguments, **more):
        seen.append(id(self))
        return method(self, *arguments, **more)

    return noted
