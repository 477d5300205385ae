"""The session: one cap for all connections, short read-only transactions, cancelling, errors without secrets."""

from __future__ import annotations

import base64
import threading
import time
import urllib.parse

import pytest

from rivet_core.errors import ConfigError, RivetError, SourceError
from rivet_core.facts import InspectItem, ReadSpec, Tuning, Unit, UnitKind
from rivet_postgres.options import PostgresOptions
from rivet_postgres.session import connect

WHOLE = Unit(index=0, kind=UnitKind.WHOLE)
SLOW = "SELECT g, pg_sleep(0.005)::text AS s, repeat('x', 1000) AS pad FROM generate_series(1, 100000) g"


def backends(source):
    return source.execute(
        "SELECT state, application_name, query FROM pg_stat_activity WHERE datname = current_database() AND usename = %s "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND application_name <> 'rivet-testbed'",
        [source.database.user],
        admin=True,
    )


def eventually(check, seconds=5.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.02)
    return False


def small(source, rows=50_000):
    source.execute(
        f"CREATE TABLE t(id int PRIMARY KEY, v text); "
        f"INSERT INTO t SELECT g, repeat('x', 200) FROM generate_series(1, {rows}) g"
    )


def test_a_limit_of_one_serves_inspect_and_read_one_after_another(source):
    small(source)
    source.session.limit(1)
    source.facts("t")
    assert source.full("t").num_rows == 50_000
    source.facts("t")
    assert source.full("t").num_rows == 50_000
    assert len(backends(source)) == 1


def test_who_comes_too_late_waits(source):
    small(source)
    source.session.limit(1)
    spec = source.spec("t", tuning=Tuning(batch_bytes=1 << 16))
    stream = source.session.read(spec, WHOLE)
    results = []
    waiting = threading.Thread(target=lambda: results.append(source.session.probe()))
    waiting.start()
    time.sleep(0.3)
    assert not results
    assert len(backends(source)) == 1
    stream.close()
    waiting.join(5)
    assert results


def test_connections_are_reused(source):
    small(source, 10)
    log = source.database.log.mark()
    for _ in range(5):
        source.full("t")
    reads = [entry.pid for entry in log.entries() if "FROM ONLY" in entry.text]
    assert len(reads) >= 5
    assert len(set(reads)) == 1


def test_the_transaction_is_read_only_short_and_named(source):
    small(source)
    spec = ReadSpec(
        export="orders", query="SELECT current_setting('transaction_read_only') AS ro, "
        "current_setting('statement_timeout') AS st, "
        "current_setting('lock_timeout') AS lt, current_setting('TimeZone') AS tz, current_setting('application_name') AS app",
        tuning=Tuning(statement_timeout_seconds=120, lock_timeout_seconds=10),
    )  # fmt: skip
    table, _ = source.read_unit(spec, WHOLE)
    assert table.to_pylist() == [{"ro": "on", "st": "2min", "lt": "10s", "tz": "UTC", "app": "rivet/orders"}]
    assert {state for state, _, _ in backends(source)} == {"idle"}
    assert {name for _, name, _ in backends(source)} == {""}


def test_queries_pass_untouched(source):
    for query in ("SELECT '100%' AS a, ':x' AS b, '{}' AS c -- end", "SELECT 'a;b' AS a, '%s' AS b, $$c;$$ AS c ;  /* x */ ;"):
        assert source.full(query=query).num_rows == 1
    assert source.full(query="SELECT E'\\';' AS a, 1 AS \"?column?\"").column_names == ["a", "?column?"]
    with pytest.raises(SourceError, match=r"read-only|WITH"):
        source.full(query="WITH x AS (DELETE FROM pg_class RETURNING 1) SELECT * FROM x")


def test_batches_are_bounded_by_bytes(source):
    small(source)
    stream = source.session.read(source.spec("t", tuning=Tuning(batch_bytes=256 << 10)), WHOLE)
    sizes = [batch.nbytes for batch in stream]
    assert len(sizes) > 20
    assert max(sizes) < 1 << 20
    stream = source.session.read(source.spec("t", tuning=Tuning(batch_rows=1000)), WHOLE)
    assert max(batch.num_rows for batch in stream) == 1000


def test_close_in_the_middle_cancels_at_the_server_and_keeps_the_connection(source):
    spec = ReadSpec(export="e", query=SLOW, tuning=Tuning(batch_bytes=1 << 16))
    stream = source.session.read(spec, WHOLE)
    next(iter(stream))
    stream.close()
    stream.close()
    assert eventually(lambda: {state for state, _, _ in backends(source)} == {"idle"})
    assert source.full(query="SELECT 1 AS a").num_rows == 1


def test_cancel_from_another_thread_ends_the_read_with_an_error(source):
    spec = ReadSpec(export="e", query=SLOW)
    stream = source.session.read(spec, WHOLE)
    threading.Timer(0.3, source.session.cancel).start()
    started = time.monotonic()
    with pytest.raises(SourceError, match="cancelled"):
        list(stream)
    assert time.monotonic() - started < 5
    assert eventually(lambda: not [1 for state, _, _ in backends(source) if state != "idle"])


def test_closing_the_session_ends_everything(source):
    stream = source.session.read(ReadSpec(export="e", query=SLOW), WHOLE)
    source.session.close()
    source.session.close()
    with pytest.raises(SourceError):
        list(stream)
    assert eventually(lambda: not backends(source))
    with pytest.raises(SourceError, match="closed"):
        source.session.probe()


def test_an_abandoned_iteration_gives_the_connection_back(source):
    small(source)
    source.session.limit(1)
    for batch in source.session.read(source.spec("t", tuning=Tuning(batch_bytes=1 << 16)), WHOLE):
        assert batch.num_rows
        break
    assert eventually(lambda: {state for state, _, _ in backends(source)} == {"idle"})
    assert source.full("t").num_rows == 50_000


@pytest.mark.parametrize("fault", ["cut", "reset"])
def test_a_cut_stream_is_an_error_never_a_short_table(source, fault_proxy, fault):
    small(source)
    proxy = fault_proxy(source.database.host, source.database.port)
    session = connect(PostgresOptions(url=source.database.url_with(port=proxy.port), engine=source.engine))
    try:
        stream = session.read(ReadSpec(export="e", table="t", tuning=Tuning(batch_bytes=1 << 16)), WHOLE)
        batches = iter(stream)
        next(batches)
        getattr(proxy, fault)(after=1_000_000)
        with pytest.raises(SourceError) as caught:
            list(batches)
        assert caught.value.transient
        assert caught.value.error_class == "connection"
        proxy.heal()
        assert sum(batch.num_rows for batch in session.read(ReadSpec(export="e", table="t"), WHOLE)) == 50_000
    finally:
        session.close()


def test_a_terminated_backend_is_a_transient_error_with_its_state(source):
    stream = source.session.read(ReadSpec(export="e", query=SLOW), WHOLE)
    threading.Timer(
        0.3,
        lambda: source.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rivet/e'", admin=True
        ),
    ).start()
    with pytest.raises(SourceError) as caught:
        list(stream)
    assert (caught.value.transient, caught.value.sqlstate, caught.value.error_class) == (True, "57P01", "connection")
    assert source.full(query="SELECT 1 AS a").num_rows == 1


def test_a_statement_timeout_is_final_and_says_so(source):
    spec = ReadSpec(export="e", query=SLOW, tuning=Tuning(statement_timeout_seconds=0.3))
    with pytest.raises(SourceError) as caught:
        source.read_unit(spec, WHOLE)
    assert (caught.value.transient, caught.value.sqlstate, caught.value.error_class) == (False, "57014", "timeout")


def test_a_lock_wait_ends_after_its_timeout(source):
    small(source, 10)
    source.full("t")
    with source.database.connect() as blocker:
        blocker.autocommit = False
        blocker.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(SourceError) as caught:
            source.read_unit(source.spec("t", tuning=Tuning(lock_timeout_seconds=0.2)), WHOLE)
        blocker.rollback()
    assert (caught.value.transient, caught.value.error_class) == (True, "conflict")


@pytest.mark.parametrize(
    ("sql", "state", "kind"),
    [
        ("SELECT * FROM nope", "42P01", "missing"),
        ("SELECT 1/0 AS a", "22012", "data"),
        ("SELECT * FROM pg_authid", "42501", "permission"),
        ("SELEC 1", "42601", "other"),
    ],
)
def test_the_servers_errors_have_a_class(source, sql, state, kind):
    with pytest.raises(SourceError) as caught:
        source.full(query=sql)
    assert (caught.value.sqlstate, caught.value.error_class, caught.value.transient) == (state, kind, False)
    assert caught.value.hint


def test_a_missing_table_and_column(source):
    with pytest.raises(SourceError) as caught:
        source.full("nope")
    assert (caught.value.sqlstate, caught.value.error_class) == ("42P01", "missing")
    small(source, 1)
    with pytest.raises(ConfigError, match="'w'"):
        source.full("t", columns=("id", "w"))
    with pytest.raises(ConfigError, match="'w'"):
        source.full("t", overrides={"w": "text"})


def test_a_table_changed_since_it_was_described_is_noticed(source):
    small(source, 5)
    source.full("t")
    source.execute("ALTER TABLE t ALTER id TYPE bigint")
    with pytest.raises(SourceError, match="changed"):
        source.full("t")


PASSWORD = "wr0ng p@ss/w:rd'\\"


@pytest.mark.parametrize("form", ["url", "fields"])
@pytest.mark.parametrize("fault", ["password", "database", "port", "host", "tls", "parameter"])
def test_a_connection_that_fails_says_why_and_never_the_password(database, form, fault):
    host = "nowhere.invalid" if fault == "host" else database.host
    port = 1 if fault == "port" else database.port
    name = "no_such_db" if fault == "database" else database.name
    password = PASSWORD if fault != "database" else database.password
    quoted = urllib.parse.quote(password, safe="")
    if form == "url":
        query = {"tls": "?sslmode=require", "parameter": "?nonsense=1"}.get(fault, "")
        keys = {"url": f"postgresql://{database.user}:{quoted}@{host}:{port}/{name}{query}"}
    else:
        keys = {"host": host, "port": port, "user": database.user, "password": password, "database": name}
        if fault == "tls":
            keys["tls"] = {"mode": "require"}
        if fault == "parameter":
            keys["tls"] = {"mode": "verify-ca"}
    session = connect(PostgresOptions.model_validate(keys))
    shown = repr(session._endpoint)
    for call in (lambda: session.inspect([InspectItem(name="t")]), lambda: session._pool.take("reader")):
        with pytest.raises(RivetError) as caught:
            call()
        error = caught.value
        expected = {"password": "auth", "database": "missing", "port": "connection", "host": "connection", "tls": "auth"}
        assert getattr(error, "error_class", None) == expected.get(fault), error.message
        assert error.hint
        shown += f"{error.message} {error.hint} {error!r} {error.__cause__!r} {error.as_dict()}"
    session.close()
    for secret in (password, quoted, base64.b64encode(password.encode()).decode()):
        assert secret not in shown


def test_g05_tls_is_really_asked_for(database):
    session = connect(PostgresOptions(url=database.url, tls=None))
    session.probe()
    session.close()
    session = connect(PostgresOptions.model_validate({"url": database.url, "tls": {"mode": "require"}}))
    with pytest.raises(SourceError, match="SSL"):
        session.probe()
    session.close()


def test_g04_unix_sockets(database):
    directory = urllib.parse.quote(str(database.server.directory), safe="")
    login = f"{database.user}:{urllib.parse.quote(database.password)}"
    urls = [
        f"postgresql://{login}@/{database.name}?host={directory}&port={database.port}",
        f"postgresql://{login}@{directory}:{database.port}/{database.name}",
    ]
    for url in urls:
        session = connect(PostgresOptions(url=url))
        assert session.probe().used_connections
        session.close()


def test_nothing_is_set_at_start_up(source):
    log = source.database.log.mark()
    source.facts("nope")
    source.full(query="SELECT 1 AS a")
    outside = [sql for sql in log.statements() if sql.upper().startswith("SET ")]
    assert not outside


def test_several_threads_read_at_once(source):
    small(source)
    source.session.limit(3)
    spec = source.spec("t")
    counts = []
    threads = [threading.Thread(target=lambda: counts.append(source.read_unit(spec, WHOLE)[0].num_rows)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counts == [50_000] * 5
    assert len(backends(source)) <= 3


def test_the_tables_of_a_campaign_are_described_at_once(source):
    source.execute("CREATE TABLE a(id int PRIMARY KEY); CREATE TABLE b(id int PRIMARY KEY); CREATE VIEW c AS SELECT 1 AS x")
    source.session.limit(1)
    source.facts("a", "b", "c")
    log = source.database.log.mark()
    for name in ("a", "b", "c"):
        source.full(name)
    assert sum("pg_attribute" in sql and "WITH ORDINALITY" in sql for sql in log.statements()) == 1
    assert len({entry.pid for entry in log.entries() if "FROM ONLY" in entry.text or "rivet_row" in entry.text}) == 1
