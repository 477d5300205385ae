"""Streams that end early, servers that go away, statements that are cancelled: an error or all rows, never some."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import psycopg
import pyarrow as pa
import pytest

from rivet_core.errors import ConfigError, SourceError
from rivet_core.facts import ReadSpec, Tuning
from rivet_pgcopy import CopyReader, field_of, functions
from rivet_postgres import copying, engines
from rivet_postgres.options import PostgresOptions
from rivet_postgres.session import connect

from .reading import WHOLE

ROWS = 400
SLOW = "SELECT g, pg_sleep(0.005)::text AS s, repeat('x', 1000) AS pad FROM generate_series(1, 100000) g"
TUNING = Tuning(page_seconds=0, batch_bytes=1 << 16)


@pytest.fixture(scope="module")
def table(shared):
    shared.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    shared.execute(f"INSERT INTO t SELECT g, repeat('x', g % 97) FROM generate_series(1, {ROWS}) g")
    return shared


@pytest.fixture
def session(table):
    found = connect(PostgresOptions(url=table.url, engine="pgcopy"))
    yield found
    found.close()


def rows(session, **keys):
    return [row for batch in session.read(ReadSpec(export="e", tuning=TUNING, **keys), WHOLE) for row in batch.to_pylist()]


@pytest.mark.parametrize("fault", ["cut", "reset"])
def test_a_stream_cut_at_any_byte_is_an_error_or_whole(table, fault_proxy, fault):
    proxy = fault_proxy(table.host, table.port)
    session = connect(PostgresOptions(url=table.url_with(port=proxy.port), engine="pgcopy"))
    dice = random.Random(1)
    outcomes: list[tuple[bool, str]] = []
    try:
        whole = rows(session, table="t")
        assert [row["id"] for row in whole] == list(range(1, ROWS + 1))
        for after in [*range(0, 1200, 60), *(dice.randrange(30_000) for _ in range(20))]:
            getattr(proxy, fault)(after=after)
            try:
                found = rows(session, table="t")
            except SourceError as error:
                outcomes.append((error.transient, error.error_class))
            else:
                assert found == whole
            proxy.heal()
            assert rows(session, table="t") == whole
    finally:
        session.close()
    assert len(outcomes) > 20
    assert set(outcomes) == {(True, "connection")}


@pytest.fixture
def connection(table):
    found = psycopg.connect(table.url, autocommit=True)
    yield found
    found.close()


def test_a_reader_gives_batches_until_the_end_and_says_whether_it_was_one(connection):
    connection.pgconn.exec_(b"COPY (SELECT id FROM t) TO STDOUT (FORMAT binary)")
    field = field_of(23, pa.int32())
    assert field is not None
    reader = CopyReader(connection.pgconn, pa.schema([("id", pa.int32())]), [field], 1000)
    sizes = []
    while (batch := reader.next()) is not None:
        assert not reader.whole or sum(sizes) + batch.num_rows == ROWS
        sizes.append(batch.num_rows)
    assert (reader.whole, sum(sizes), len(sizes) > 1) == (True, ROWS, True)
    assert reader.next() is None
    assert connection.pgconn.get_result().status == psycopg.pq.ExecStatus.COMMAND_OK


def test_a_connection_that_copies_nothing_is_an_error(connection):
    with pytest.raises(ConnectionError, match="no COPY in progress"):
        CopyReader(connection.pgconn, pa.schema([]), [], 1000).next()


@pytest.fixture
def heeds_ctrl_c():
    """A runner in the background of a script is started with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_gets_through_while_the_server_is_silent(session):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        rows(session, query="SELECT 1 AS a, pg_sleep(20)::text AS s")
    assert time.monotonic() - began < 5
    assert rows(session, query="SELECT 1 AS a") == [{"a": 1}]


def test_a_cancelled_read_leaves_a_connection_that_works(session):
    stream = session.read(ReadSpec(export="e", query=SLOW, tuning=TUNING), WHOLE)
    next(iter(stream))
    began = time.monotonic()
    stream.close()
    assert time.monotonic() - began < 3
    assert rows(session, query="SELECT 1 AS a") == [{"a": 1}]


def test_cancelling_gives_up_on_a_server_that_is_out_of_reach(table, fault_proxy, monkeypatch):
    monkeypatch.setattr(copying, "SECONDS_TO_ABANDON", 0.5)
    proxy = fault_proxy(table.host, table.port)
    session = connect(PostgresOptions(url=table.url_with(port=proxy.port), engine="pgcopy"))
    stream = session.read(ReadSpec(export="e", query=SLOW, tuning=TUNING), WHOLE)
    batches = iter(stream)
    next(batches)
    proxy.stall()
    threading.Timer(0.2, stream.cancel).start()
    began = time.monotonic()
    with pytest.raises(SourceError, match="cancelled"):
        list(batches)
    session.close()
    assert time.monotonic() - began < 6


def test_a_table_that_changed_between_two_reads_is_noticed(session, table):
    table.execute("CREATE TABLE moving (a int, b timestamp)")
    assert rows(session, table="moving") == []
    for change in ("ALTER a TYPE real", "ALTER a TYPE oid", "ALTER b TYPE timestamptz"):
        table.execute(
            f"ALTER TABLE moving {change}" if "oid" not in change else "ALTER TABLE moving ALTER a TYPE oid USING a::int"
        )
        with pytest.raises(SourceError, match="changed") as caught:
            rows(session, table="moving")
        assert caught.value.error_class == "data"
        table.execute("ALTER TABLE moving ALTER a TYPE int USING a::int")


def test_the_engine_is_chosen_and_named(table):
    for engine, words in (("auto", "rivet-pgcopy"), ("pgcopy", "rivet-pgcopy"), ("adbc", "ADBC")):
        session = connect(PostgresOptions(url=table.url, engine=engine))
        assert words in session.probe().notes[-1]
        session.close()


def test_where_it_is_not_installed_adbc_reads_and_says_so(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    assert engines.choose_engine("auto").name == "adbc"
    assert "not installed" in engines.choose_engine("auto").note
    with pytest.raises(ConfigError, match="not installed") as caught:
        engines.choose_engine("pgcopy")
    assert "pip install rivet-pgcopy" in caught.value.hint


def test_the_functions_are_those_of_the_libpq_in_use():
    assert len(set(functions())) == 4
    assert all(functions())


def test_rows_of_any_size_come_through_tls(postgres_tls):
    postgres_tls.execute("CREATE TABLE t (id int PRIMARY KEY, v text); ALTER TABLE t ALTER v SET STORAGE EXTERNAL")
    sizes = [*range(0, 40_000, 577), 5 << 20, 1, 16_383, 16_384, 16_385, 8 << 20]
    for at, size in enumerate(sizes):
        postgres_tls.execute(f"INSERT INTO t VALUES ({at}, repeat('x', {size}))")
    session = connect(PostgresOptions.model_validate({"url": postgres_tls.url, "tls": {"mode": "require"}, "engine": "pgcopy"}))
    try:
        found = rows(session, table="t")
        assert [(row["id"], len(row["v"])) for row in found] == list(enumerate(sizes))
        for at, size in enumerate(sizes):
            assert [len(row["v"]) for row in rows(session, query=f"SELECT v FROM t WHERE id = {at}")] == [size]
    finally:
        session.close()
