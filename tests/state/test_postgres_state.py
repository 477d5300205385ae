"""The same state in PostgreSQL, shared by machines."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from rivet_core.errors import BusyError, ConfigError
from rivet_core.facts import Mark, Unit, UnitKind
from rivet_core.state import Lease, PartRecord, RunStart, Slots, UnitRecord, open_state, read_state

CURSOR = (Mark(column="id", type="bigint", value="9007199254740993"),)


@pytest.fixture
def url(postgres):
    return postgres.admin_url


def test_reading_creates_nothing(postgres, url):
    with read_state(url) as state:
        assert state.cursors() == {}
    assert postgres.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'rivet_%'", admin=True) == [(0,)]


def test_a_run_from_start_to_history(url):
    with open_state(url) as state:
        unit = Unit(index=0, kind=UnitKind.WHOLE)
        for number in (1, 2):
            start = RunStart(
                run_id=f"r{number}",
                export="orders",
                plan_id="p",
                fingerprint="f",
                source_fingerprint="s",
                mode="full",
                units=(unit,),
                started_at=datetime(2024, 1, number, tzinfo=UTC),
            )
            state.runs.begin(start)
            part = PartRecord(unit=0, part=0, key="k", rows=1 << 40, bytes=1 << 41, checksum="x")
            state.runs.unit_done(f"r{number}", UnitRecord(unit=0, rows=1 << 40, bytes=1 << 41, parts=(part,), marks=CURSOR))
        assert [record.parts for record in state.runs.resumable("orders").done] == [(part,)]
        columns = [{"name": "id", "type": "bigint"}]
        state.runs.commit(
            "r2", "orders", rows=1 << 40, size=1, seconds=1.0, retries=0, columns=columns, cursor=CURSOR, keep_cursor=True
        )
        state.save_snapshot("shop", {"ключ": 1}, datetime.now(UTC))
    with read_state(url) as state:
        assert state.cursor("orders") == CURSOR
        assert [(run.run_id, run.status, run.rows) for run in state.histories()["orders"]] == [
            ("r2", "succeeded", 1 << 40),
            ("r1", "killed", None),
        ]
        assert state.all_last_columns() == {"orders": (("id", "bigint"),)}
        assert state.snapshot("shop").data == {"ключ": 1}


def test_of_many_that_want_a_lease_one_has_it(url):
    stores = [open_state(url) for _ in range(6)]
    slots = (Slots(resource="connections:db", capacity=2, count=1),)
    try:
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda store: store.leases.attempt("export:orders", slots), stores))
        assert sum(isinstance(lease, Lease) for lease in found) == 1
        with pytest.raises(BusyError):
            stores[0].leases.acquire("export:orders")
    finally:
        for store in stores:
            store.close()
    with read_state(url) as state:
        assert state.leases.holders() == {}


def test_an_unreachable_server_is_a_clear_error_without_the_password():
    for opener in (open_state, read_state):
        with pytest.raises(ConfigError) as caught:
            opener("postgresql://rivet:geheim@127.0.0.1:1/state")
        assert "geheim" not in caught.value.message
