"""The same state in PostgreSQL, shared by machines."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text, update

from rivet_core.errors import BusyError, ConfigError, RivetError
from rivet_core.facts import Mark, Unit, UnitKind
from rivet_core.state import Lease, PartRecord, Refusal, RunStart, Slots, UnitRecord, leases, open_state, read_state, waiting
from rivet_core.state.models import LEASES

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


def test_first_runs_that_race_all_open_the_state(url):
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: open_state(url), range(6)))
    for store in stores:
        assert store.cursors() == {}
        store.close()


def test_processes_that_race_for_slots_all_get_one_of_them(url):
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: open_state(url), range(6)))
        for number in range(20):
            wanted = (Slots(resource=f"connections:g{number}", capacity=6, count=1),)
            start = threading.Barrier(6)

            def take(place, wanted=wanted, start=start):
                start.wait()
                return stores[place].leases.attempt(f"export:{place}", wanted)

            taken = list(pool.map(take, range(6)))
            assert all(isinstance(lease, Lease) for lease in taken)
            assert len({lease.names[1] for lease in taken}) == 6
            for store, lease in zip(stores, taken, strict=True):
                store.leases.release(lease)
    for store in stores:
        store.close()


class Tomorrow(datetime):
    """The clock of a host that is a day ahead."""

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + timedelta(days=1)


def test_the_servers_clock_decides_what_is_stale(url, monkeypatch):
    with open_state(url) as first, open_state(url) as second:
        first.leases.acquire("export:orders")
        monkeypatch.setattr(leases, "datetime", Tomorrow)
        with first._database.writing() as connection:
            connection.execute(update(LEASES).values(host="elsewhere"))
        assert not isinstance(second.leases.attempt("export:orders"), Lease)
        first.leases.beat()
        with first._database.reading() as connection:
            age = (
                leases.clock(connection)
                - connection.execute(text("SELECT heartbeat_at::timestamptz FROM rivet_lease")).scalar()
            )
        assert timedelta(0) <= age < timedelta(seconds=leases.STALE_SECONDS)
        with first._database.writing() as connection:
            connection.execute(text("UPDATE rivet_lease SET heartbeat_at = (now() - interval '31 s')::text"))
        assert isinstance(second.leases.attempt("export:orders"), Lease)


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


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://rivet:geheim@127.0.0.1:1/state",
        "postgresql://rivet@127.0.0.1:1/state?password=geheim&connect_timeout=3",
        "postgresql://rivet@127.0.0.1:1/state?sslpassword=geheim",
        "postgresql:/rivet:x@geheim@127.0.0.1:1/state",
        "host=127.0.0.1 password=geheim",
    ],
)
def test_an_unreachable_server_is_a_clear_error_without_the_password(place):
    for opener in (open_state, read_state):
        with pytest.raises(ConfigError) as caught:
            opener(place)
        assert "geheim" not in caught.value.message + caught.value.hint


def test_a_process_that_vanished_inside_a_transaction_keeps_nobody_waiting(url, monkeypatch):
    monkeypatch.setattr(waiting, "IDLE_SECONDS", 1)
    with open_state(url) as gone, open_state(url) as other:
        gone.leases.acquire("export:orders")
        stopped = ExitStack()
        connection = stopped.enter_context(gone._database.writing())
        connection.execute(select(LEASES).with_for_update()).all()
        assert isinstance(other.leases.attempt("export:orders"), Refusal)
        with pytest.raises(RivetError, match="cannot write the state"):
            stopped.close()


def test_rows_that_somebody_has_locked_are_not_waited_for_without_end(url, postgres, monkeypatch):
    monkeypatch.setattr(waiting, "BUSY_SECONDS", 0.2)
    monkeypatch.setattr(waiting, "MARGIN_SECONDS", 0.2)
    with open_state(url) as state:
        state.leases.acquire("export:orders")
        with postgres.connect(admin=True) as other, other.transaction():
            other.execute("LOCK TABLE rivet_lease")
            with pytest.raises(RivetError, match="lock timeout"):
                state.leases.attempt("export:other")
        assert isinstance(state.leases.attempt("export:other"), Lease)
