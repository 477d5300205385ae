"""Connections: limits, settings, cancelling, what breaks, and that no secret is ever shown."""

from __future__ import annotations

import base64
import logging
import threading
import time
from urllib.parse import quote

import pytest

from rivet_core.errors import SourceError
from rivet_core.facts import InspectItem, Mode, ReadSpec, Tuning, Unit, UnitKind
from rivet_mysql.options import MysqlOptions
from rivet_mysql.session import connect

pytestmark = pytest.mark.mysql
SECRET = "p@ss/w:rd '%\\ ünd 7"
WHOLE = Unit(index=0, kind=UnitKind.WHOLE)


def spec(**more):
    return ReadSpec(**{"export": "t", "table": "t", "out_of_range": "null_counted", **more})


def rows_of(mysql, rows):
    mysql.execute(
        f"CREATE TABLE t(id int primary key, c varchar(200)); INSERT INTO t SELECT seq, REPEAT('x', 150) FROM seq_1_to_{rows}"
    )


def test_the_session_is_read_only_utc_and_utf8(mysql, session):
    query = "SELECT @@time_zone z, @@character_set_results c, @@sql_mode m, @@tx_read_only r, @@max_statement_time t"
    stream = session.read(spec(table=None, query=query, tuning=Tuning(statement_timeout_seconds=77)), WHOLE)
    (row,) = next(iter(stream)).to_pylist()
    assert (row["z"], row["c"], row["m"], row["r"], float(row["t"])) == ("+00:00", "utf8mb4", "", 1, 77.0)


def test_nothing_can_be_written(mysql, session):
    rows_of(mysql, 1)
    mysql.execute("CREATE FUNCTION boom() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM t; RETURN 1; END", admin=True)
    with pytest.raises(SourceError):
        list(session.read(spec(table=None, query="SELECT boom() AS b"), WHOLE))
    assert mysql.execute("SELECT COUNT(*) FROM t") == [(1,)]


@pytest.mark.parametrize("mode", ["ANSI_QUOTES,PIPES_AS_CONCAT", "NO_BACKSLASH_ESCAPES", "NO_ZERO_DATE,STRICT_ALL_TABLES"])
def test_a_query_means_what_it_means_at_this_server(mysql, mode):
    old = mysql.execute("SELECT @@GLOBAL.sql_mode", admin=True)[0][0]
    mysql.execute("CREATE TABLE t(id varchar(20) primary key); INSERT INTO t VALUES ('a\\\\b'), ('a''c')")
    mysql.execute(f"SET GLOBAL sql_mode = '{mode}'", admin=True)
    try:
        for engine in ("auto", "rows"):
            session = connect(MysqlOptions(url=mysql.url, engine=engine))
            got = [
                row["id"]
                for batch in session.read(spec(tuning=Tuning(batch_rows=1, batch_bytes=1)), WHOLE)
                for row in batch.to_pylist()
            ]
            assert sorted(got) == ["a'c", "a\\b"]
            if "PIPES" in mode:
                (batch,) = list(
                    session.read(spec(table=None, query="SELECT 'a' || \"id\" AS x FROM t WHERE id = 'a''c'"), WHOLE)
                )
                assert batch.to_pylist() == [{"x": "aa'c"}]
            session.close()
    finally:
        mysql.execute(f"SET GLOBAL sql_mode = '{old}'", admin=True)


def test_no_more_connections_than_the_limit(mysql, session):
    rows_of(mysql, 20_000)
    session.limit(2)
    seen, done = [], threading.Event()

    def watch():
        while not done.is_set():
            seen.append(
                mysql.execute(
                    "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'rivet' AND ID <> CONNECTION_ID()"
                )[0][0]
            )
            time.sleep(0.005)

    def read(failures):
        try:
            stream = session.read(spec(tuning=Tuning(batch_bytes=200_000, pause_share=0.0)), WHOLE)
            assert sum(batch.num_rows for batch in stream) == 20_000
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    failures = []
    watcher = threading.Thread(target=watch)
    readers = [threading.Thread(target=read, args=(failures,)) for _ in range(4)]
    for thread in (watcher, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    done.set()
    watcher.join()
    assert failures == []
    assert 1 <= max(seen) <= 2


def test_cancel_stops_the_statement_at_the_server(mysql, session):
    rows_of(mysql, 2000)
    stream = session.read(spec(table=None, query="SELECT id, SLEEP(0.05) AS s FROM t"), WHOLE)
    threading.Timer(0.7, session.cancel).start()
    begun = time.monotonic()
    with pytest.raises(SourceError) as raised:
        list(stream)
    assert time.monotonic() - begun < 10
    assert raised.value.error_class == "timeout"
    assert not raised.value.transient
    time.sleep(0.3)
    assert running(mysql) == []


def running(mysql):
    return mysql.execute(
        "SELECT INFO FROM information_schema.PROCESSLIST WHERE INFO LIKE '%rivet/%' AND ID <> CONNECTION_ID()", admin=True
    )


def test_closing_a_stream_early_leaves_nothing_behind(mysql, session):
    rows_of(mysql, 50_000)
    stream = session.read(spec(tuning=Tuning(batch_rows=100, batch_bytes=50_000)), WHOLE)
    next(iter(stream))
    stream.close()
    stream.close()
    time.sleep(0.3)
    assert running(mysql) == []
    assert sum(batch.num_rows for batch in session.read(spec(), WHOLE)) == 50_000


def test_a_killed_connection_is_a_transient_error_not_an_end(mysql, session):
    rows_of(mysql, 3000)
    failed = []

    def kill():
        time.sleep(0.5)
        for (thread,) in mysql.execute(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%rivet/%' AND ID <> CONNECTION_ID()", admin=True
        ):
            failed.append(thread)
            mysql.execute(f"KILL CONNECTION {thread}", admin=True)

    threading.Thread(target=kill).start()
    with pytest.raises(SourceError) as raised:
        list(session.read(spec(table=None, query="SELECT id, SLEEP(0.01) AS s FROM t"), WHOLE))
    assert failed
    assert raised.value.error_class == "connection"
    assert raised.value.transient


def test_a_statement_timeout_is_final(mysql, session):
    rows_of(mysql, 1000)
    slow = spec(table=None, query="SELECT id, SLEEP(0.05) AS s FROM t", tuning=Tuning(statement_timeout_seconds=0.5))
    with pytest.raises(SourceError) as raised:
        list(session.read(slow, WHOLE))
    assert raised.value.error_class == "timeout"
    assert not raised.value.transient


def test_a_server_that_restarts_is_found_again(mysql, session):
    rows_of(mysql, 10)
    list(session.read(spec(), WHOLE))
    mysql.restart()
    for _ in range(2):
        try:
            got = sum(batch.num_rows for batch in session.read(spec(), WHOLE))
        except SourceError as error:
            assert error.transient  # noqa: PT017
        else:
            break
    assert got == 10


@pytest.mark.parametrize(
    ("statement", "kind", "transient"),
    [
        ("SELECT * FROM nowhere", "missing", False),
        ("SELECT nope FROM t", "missing", False),
        ("SELECT * FROM mysql.user", "permission", False),
        ("SELECT FROM WHERE", "other", False),
    ],
)
def test_errors_have_a_class_and_a_hint(mysql, session, statement, kind, transient):
    rows_of(mysql, 1)
    with pytest.raises(SourceError) as raised:
        list(session.read(spec(table=None, query=statement), WHOLE))
    assert (raised.value.error_class, raised.value.transient) == (kind, transient)
    assert raised.value.hint


def test_a_missing_table_is_named(session):
    with pytest.raises(SourceError, match="no table") as raised:
        session.units(spec(table="none", mode=Mode.FULL), ())
    assert "GRANT SELECT" in raised.value.hint


@pytest.mark.parametrize("form", ["url", "fields"])
@pytest.mark.parametrize("how", ["password", "host", "port"])
def test_g03_no_form_of_the_password_is_shown(mysql, form, how, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    host, port = ("no-such-host.invalid" if how == "host" else "127.0.0.1"), (1 if how == "port" else mysql.port)
    if form == "url":
        options = MysqlOptions(url=f"mysql://rivet:{quote(SECRET, safe='')}@{host}:{port}/x")
    else:
        options = MysqlOptions(host=host, port=port, user="rivet", password=SECRET, database="x")
    with pytest.raises(SourceError) as raised:
        connect(options)
    assert raised.value.error_class == ("auth" if how == "password" else "connection")
    out, err = capfd.readouterr()
    shown = " ".join(
        [repr(raised.value), str(raised.value), raised.value.hint, caplog.text, out, err, repr(options), str(options)]
    )
    for secret in (SECRET, quote(SECRET, safe=""), base64.b64encode(SECRET.encode()).decode()):
        assert secret not in shown


def test_g03_a_secret_stays_hidden_in_the_chain_of_an_error(mysql):
    options = MysqlOptions(url=f"mysql://rivet:{quote(SECRET, safe='')}@127.0.0.1:{mysql.port}/x")
    with pytest.raises(SourceError) as raised:
        connect(options)
    error: BaseException | None = raised.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__


def test_closing_twice_is_fine_and_a_closed_session_says_so(mysql):
    session = connect(MysqlOptions(url=mysql.url))
    session.close()
    session.close()
    with pytest.raises(SourceError, match="closed"):
        session.inspect([InspectItem(name="t", table="t")])


def test_tls_that_the_server_has_not_is_refused(mysql):
    options = MysqlOptions(url=mysql.url, tls={"mode": "require"})
    with pytest.raises(SourceError, match=r"SSL|TLS"):
        connect(options)
