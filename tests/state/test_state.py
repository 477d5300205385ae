"""The state database: what it keeps, who may write, and that reading it changes nothing."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from rivet_core.errors import BusyError, ConfigError, InternalError, RivetError
from rivet_core.facts import Mark, Unit, UnitKind
from rivet_core.state import (
    Event,
    Lease,
    Metric,
    PartRecord,
    Refusal,
    RunStart,
    Slots,
    UnitRecord,
    open_state,
    read_state,
    waiting,
)
from rivet_core.state.leases import BEAT_BUSY_SECONDS, HEARTBEAT_SECONDS, STALE_SECONDS
from rivet_core.state.models import LEASES, SCHEMA_VERSION
from rivet_core.state.waiting import BUSY_SECONDS

URL = "sqlite:///.rivet/state.db"
AT = datetime(2024, 1, 1, tzinfo=UTC)
CURSOR = (Mark(column="updated_at", type="timestamptz", value="2024-01-01 00:00:00.123456+00"),)


@pytest.fixture
def state(tmp_path):
    with open_state(URL, base=tmp_path) as found:
        yield found


def begin(state, run_id, *, export="orders", plan="p1", at=AT, units=1):
    tiles = tuple(Unit(index=index, kind=UnitKind.RANGE, columns=("id",)) for index in range(units))
    start = RunStart(
        run_id=run_id,
        export=export,
        plan_id=plan,
        fingerprint="f",
        source_fingerprint="s",
        mode="chunked",
        units=tiles,
        started_at=at,
        cursor_before=CURSOR,
    )
    state.runs.begin(start)
    return start


def commit(state, run_id, *, export="orders", cursor=CURSOR, keep=True):
    columns = [{"name": "id", "type": "int64", "nullable": False}]
    state.runs.commit(run_id, export, rows=3, size=30, seconds=1.5, retries=1, columns=columns, cursor=cursor, keep_cursor=keep)


def record(unit):
    part = PartRecord(unit=unit, part=0, key=f"k{unit}", rows=1, bytes=10, checksum="x", columns={"id": {"null_count": 0}})
    return UnitRecord(unit=unit, rows=1, bytes=10, parts=(part,), marks=CURSOR, counts={"a: null": 2}, schema=({"name": "id"},))


def test_a_run_moves_the_cursor_when_it_commits(state):
    begin(state, "r1")
    assert state.cursors() == {}
    commit(state, "r1")
    assert state.cursors() == {"orders": CURSOR}
    assert state.committed_by_plan("p1") == {"orders"}
    assert state.last_columns("orders") == (("id", "int64"),)
    found = state.progression()["orders"]
    assert (found.observed, found.committed, found.observed_at) == (CURSOR, CURSOR, found.committed_at)
    assert state.runs.resumable("orders") is None


def test_how_far_a_run_read_that_did_not_commit_is_observed_only(state):
    begin(state, "r1")
    commit(state, "r1")
    begin(state, "r2", at=AT + timedelta(hours=1))
    later = tuple(replace(mark, value="9" + mark.value) for mark in CURSOR)
    failed = {"status": "failed", "seconds": 1.0, "retries": 0, "error_class": "", "error": {}}
    state.runs.fail("r2", **failed, observed={"orders": later})
    found = state.progression()["orders"]
    assert (found.observed, found.committed, found.verified) == (later, CURSOR, ())
    assert state.cursor("orders") == CURSOR


def test_a_commit_without_a_cursor_keeps_or_clears_it(state):
    begin(state, "r1")
    commit(state, "r1")
    begin(state, "r2", at=AT + timedelta(hours=1))
    commit(state, "r2", cursor=None)
    assert state.cursor("orders") == CURSOR
    begin(state, "r3", at=AT + timedelta(hours=2))
    commit(state, "r3", cursor=None, keep=False)
    assert state.cursor("orders") == ()


def test_a_commit_that_comes_late_moves_no_cursor_back(state):
    """Its process stood still behind the replace of current.json; another told the state of it, and went on."""
    begin(state, "r1")
    commit(state, "r1")
    begin(state, "r2")
    later = (Mark(column="id", type="INTEGER", value="99"),)
    commit(state, "r2", cursor=later)
    commit(state, "r1")
    assert state.cursor("orders") == later
    assert state.progression()["orders"].committed == later


def test_a_broken_off_run_can_be_resumed(state):
    begin(state, "r1", units=3)
    state.runs.unit_done("r1", record(0))
    state.runs.unit_done("r1", record(1))
    state.runs.unit_done("r1", record(1))
    found = state.runs.resumable("orders")
    assert (found.run_id, len(found.units), found.cursor_before) == ("r1", 3, CURSOR)
    assert found.done == (record(0), record(1))
    assert state.runs.live() == {"r1"}
    state.runs.fail("r1", status="failed", seconds=1.0, retries=2, error_class="timeout", error={"message": "slow"})
    assert state.runs.resumable("orders").done == found.done
    begin(state, "r2", at=AT + timedelta(hours=1))
    assert state.runs.resumable("orders").run_id == "r2"


def test_histories_are_newest_first_and_limited(state):
    for number in range(5):
        begin(state, f"r{number}", at=AT + timedelta(hours=number))
        commit(state, f"r{number}")
    begin(state, "other", export="customers")
    found = state.histories(limit=3)
    assert [run.run_id for run in found["orders"]] == ["r4", "r3", "r2"]
    assert found["customers"][0].status == "running"
    run = found["orders"][0]
    assert (run.rows, run.bytes, run.seconds, run.fingerprint, run.retries) == (3, 30, 1.5, "s", 1)


def test_verified_never_passes_committed(state):
    begin(state, "r1")
    commit(state, "r1")
    later = (Mark(column="updated_at", type="timestamptz", value="2025-01-01 00:00:00+00"),)
    assert not state.verify("orders", later)
    assert state.progression()["orders"].verified == ()
    assert state.verify("orders", CURSOR)
    assert state.progression()["orders"].verified == CURSOR


def test_events_metrics_and_snapshots(state):
    state.record(Event(at=AT, kind="warning", plan_id="p", export="orders", data={"n": number}) for number in range(3))
    assert [event.data["n"] for event in state.events(export="orders", limit=2)] == [1, 2]
    metric = Metric(run_id="r", export="orders", at=AT, status="succeeded", seconds=1.0, rows=1, bytes=2, predicted_p50=2.0)
    state.runs.grade(metric)
    assert state.metrics("orders") == [metric]
    for number in range(4):
        state.save_snapshot("shop", {"n": number}, AT + timedelta(minutes=number))
    assert [snapshot.data["n"] for snapshot in state.snapshots("shop")] == [3, 2]
    assert state.snapshot("none") is None


def test_a_second_lease_is_refused_and_names_the_holder(state, tmp_path):
    lease = state.leases.acquire("export:orders")
    with open_state(URL, base=tmp_path) as other:
        with pytest.raises(BusyError, match=f"orders is in use by another run: process {os.getpid()}"):
            other.leases.acquire("export:orders", wait=0.3)
        state.leases.release(lease)
        assert other.leases.acquire("export:orders").taken_from == ""


def test_a_waiting_lease_is_had_when_it_comes_free(state, tmp_path):
    lease = state.leases.acquire("export:orders")
    threading.Timer(0.3, state.leases.release, [lease]).start()
    with open_state(URL, base=tmp_path) as other:
        assert other.leases.acquire("export:orders", wait=10).name == "export:orders"


def test_m11_a_lease_of_a_dead_process_is_taken_over_at_once(tmp_path):
    script = (
        "import sys,os; from pathlib import Path; from rivet_core.state import open_state\n"
        f"open_state({URL!r}, base=Path(sys.argv[1])).leases.acquire('export:orders')\n"
        "print(os.getpid(), flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60)
    with open_state(URL, base=tmp_path) as state:
        lease = state.leases.acquire("export:orders")
    assert f"process {done.stdout.strip()} on" in lease.taken_from


def test_a_lease_from_elsewhere_is_stale_after_half_a_minute(state, tmp_path):
    lease = state.leases.acquire("export:orders")
    with open_state(URL, base=tmp_path) as other:
        for age, taken in ((10, False), (31, True)):
            moment = datetime.now(UTC) - timedelta(seconds=age)
            with state._database.writing() as connection:
                connection.execute(update(LEASES).values(host="elsewhere", heartbeat_at=moment))
            assert isinstance(other.leases.attempt("export:orders"), Lease) is taken
        assert state.leases.lost(lease)


def test_a_heartbeat_waits_its_own_short_time_and_never_in_the_queue(state, tmp_path):
    state.leases.acquire("export:orders")
    database = state._database
    with database.reading() as connection:
        before = connection.execute(select(LEASES.c.heartbeat_at)).scalar()
    with database._lock:
        state.leases.beat()
    with database.reading() as connection:
        assert connection.execute(select(LEASES.c.heartbeat_at)).scalar() > before
    assert STALE_SECONDS >= 3 * (HEARTBEAT_SECONDS + BEAT_BUSY_SECONDS)
    with closing(sqlite3.connect(tmp_path / ".rivet/state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(RivetError, match="locked"), database.writing(busy=0.2):
            pass
        assert 0.1 < time.monotonic() - began < 5
        other.execute("ROLLBACK")
    with database.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == BUSY_SECONDS * 1000


def test_a_campaign_that_is_to_end_waits_no_longer_for_who_has_the_state_locked(state, tmp_path, monkeypatch):
    monkeypatch.setattr(waiting, "HURRY_SECONDS", 0.5)
    state.leases.acquire("export:orders")
    errors = []

    def write(export):
        try:
            state.set_cursor(export, CURSOR)
        except RivetError as error:
            errors.append(error)

    with closing(sqlite3.connect(tmp_path / ".rivet" / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        threads = [threading.Thread(target=write, args=(f"e{number}",)) for number in range(4)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        state.hurry()
        for thread in threads:
            thread.join()
        assert time.monotonic() - began < 5
        other.execute("ROLLBACK")
    assert [error.code for error in errors] == ["state_failed"] * 4
    state.set_cursor("orders", CURSOR)


def test_who_waited_in_the_queue_does_not_wait_as_long_once_more(state, tmp_path, monkeypatch):
    monkeypatch.setattr(waiting, "BUSY_SECONDS", 1.0)
    monkeypatch.setattr(waiting, "LEAST_SECONDS", 0.1)
    with closing(sqlite3.connect(tmp_path / ".rivet" / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with ThreadPoolExecutor(6) as pool:
            failed = [pool.submit(state.set_cursor, f"e{number}", CURSOR) for number in range(6)]
            assert all(isinstance(found.exception(), RivetError) for found in failed)
        assert 0.9 < time.monotonic() - began < 3
        other.execute("ROLLBACK")


def test_after_a_wait_in_vain_others_wait_for_moments_until_one_succeeds(state, tmp_path, monkeypatch):
    monkeypatch.setattr(waiting, "BUSY_SECONDS", 1.0)
    monkeypatch.setattr(waiting, "HURRY_SECONDS", 0.1)
    monkeypatch.setattr(waiting, "LEAST_SECONDS", 0.1)

    def waited():
        began = time.monotonic()
        with pytest.raises(RivetError, match="locked"):
            state.set_cursor("orders", CURSOR)
        return time.monotonic() - began

    with closing(sqlite3.connect(tmp_path / ".rivet" / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert waited() >= 0.9
        assert waited() < 0.6
        other.execute("ROLLBACK")
        state.set_cursor("orders", CURSOR)
        other.execute("BEGIN IMMEDIATE")
        assert waited() >= 0.9
        other.execute("ROLLBACK")


def test_slots_are_counted_over_all_processes(state, tmp_path):
    def slots(count):
        return (Slots(resource="connections:db", capacity=3, count=count),)

    with open_state(URL, base=tmp_path) as other:
        first = state.leases.attempt("export:a", slots(2))
        assert isinstance(other.leases.attempt("export:b", slots(2)), Refusal)
        assert isinstance(other.leases.attempt("export:b", slots(1)), Lease)
        assert other.leases.attempt("export:c", slots(1)).slots
        state.leases.release(first)
        assert isinstance(other.leases.attempt("export:c", slots(2)), Lease)
        assert set(state.leases.holders()) == {"export:b", "export:c", *(f"slot:connections:db:{n}" for n in range(3))}


def test_reading_creates_nothing(tmp_path):
    with read_state(URL, base=tmp_path) as state:
        assert (state.cursors(), state.histories(), state.committed_by_plan("p"), state.last_columns("x")) == (
            {},
            {},
            set(),
            None,
        )
        with pytest.raises(InternalError):
            state.set_cursor("orders", CURSOR)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("closed", [True, False])
def test_reading_changes_no_byte_beside_a_writer_and_after_one(tmp_path, closed):
    writer = open_state(URL, base=tmp_path)
    begin(writer, "r1")
    commit(writer, "r1")
    if closed:
        writer.close()
    folder = tmp_path / ".rivet"
    before = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
    names = {path.name for path in folder.iterdir()}
    with read_state(URL, base=tmp_path) as state:
        assert state.cursors() == {"orders": CURSOR}
    assert {path.name for path in folder.iterdir()} == names
    assert {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")} == before
    writer.close()


def test_reading_after_a_crash_sees_what_the_log_holds(tmp_path):
    writer = open_state(URL, base=tmp_path)
    begin(writer, "r1")
    commit(writer, "r1")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("state.db", "state.db-wal"):  # as after kill -9, and without the shared memory: as restored from a backup
        (copy / name).write_bytes((tmp_path / ".rivet" / name).read_bytes())
    writer.close()
    with read_state(f"sqlite:///{copy}/state.db") as state:
        assert state.cursors() == {"orders": CURSOR}
    assert sorted(path.name for path in copy.iterdir()) == ["state.db", "state.db-wal"]


def test_a_newer_schema_is_refused(tmp_path):
    open_state(URL, base=tmp_path).close()
    with closing(sqlite3.connect(tmp_path / ".rivet" / "state.db")) as connection:
        connection.execute("UPDATE rivet_schema SET version = ?", (SCHEMA_VERSION + 1,))
        connection.commit()
    for opener in (open_state, read_state):
        with pytest.raises(ConfigError, match="newer"):
            opener(URL, base=tmp_path)


@pytest.mark.parametrize("opener", [open_state, read_state])
def test_what_is_no_database_is_a_clear_error(tmp_path, opener):
    (tmp_path / "state.db").write_text("this is not a database, it only looks like a file" * 10)
    with pytest.raises(ConfigError, match="cannot open the state"):
        opener("sqlite:///state.db", base=tmp_path)
    with pytest.raises(ConfigError):
        opener("not a url", base=tmp_path)
    with pytest.raises(ConfigError):
        opener("nosuchdb://host/x", base=tmp_path)


def test_several_processes_write_at_once(tmp_path):
    open_state(URL, base=tmp_path).close()
    script = (
        "import sys; from pathlib import Path; from rivet_core.state import open_state; from rivet_core.facts import Mark\n"
        f"s = open_state({URL!r}, base=Path(sys.argv[1]))\n"
        "for i in range(50): s.set_cursor(sys.argv[2] + str(i), (Mark(column='a', type='int', value=str(i)),))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), name]) for name in ("a", "b", "c")]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    with read_state(URL, base=tmp_path) as state:
        assert len(state.cursors()) == 150
