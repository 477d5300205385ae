"""P01: a hot standby cancels reads to replay changes; the page is read again in smaller ones, and the reason is named."""

from __future__ import annotations

import threading

import pytest

from rivet_core.facts import ReadSpec, Tuning, Unit, UnitKind
from rivet_postgres.options import PostgresOptions
from rivet_postgres.session import connect

ROWS = 20_000


@pytest.fixture
def impatient(postgres_standby_server):
    """Let the standby replay at once, whoever reads."""
    admin = postgres_standby_server.admin()
    for sql in ("ALTER SYSTEM SET max_standby_streaming_delay = '50ms'", "SELECT pg_reload_conf()"):
        admin.execute(sql)
    yield postgres_standby_server
    for sql in ("ALTER SYSTEM RESET max_standby_streaming_delay", "SELECT pg_reload_conf()"):
        admin.execute(sql)


def test_p01_a_recovery_conflict_halves_the_page_and_the_read_goes_on(postgres, postgres_standby, impatient, engine):
    postgres.execute("CREATE TABLE t(id int PRIMARY KEY, v text, n int)")
    postgres.execute(f"INSERT INTO t SELECT g, repeat('x', 1500), 0 FROM generate_series(1, {ROWS}) g")
    postgres.execute("VACUUM ANALYZE t")
    impatient.catch_up()
    session = connect(PostgresOptions(url=postgres_standby.url, engine=engine))
    changing = threading.Event()

    def change() -> None:
        while not changing.is_set():
            postgres.execute("UPDATE t SET n = n + 1 WHERE id % 10 = 0")
            postgres.execute("VACUUM t")
            changing.wait(0.05)

    try:
        tuning = Tuning(page_seconds=2.0, pause_share=0, batch_bytes=1 << 16)
        stream = session.read(
            ReadSpec(export="e", table="t", columns=("id", "v"), tuning=tuning), Unit(index=0, kind=UnitKind.WHOLE)
        )
        batches = iter(stream)
        seen = next(batches).column(0).to_pylist()
        # The page that runs keeps its snapshot while nobody fetches: the conflict is certain.
        writer = threading.Thread(target=change)
        writer.start()
        changing.wait(0.8)
        for batch in batches:
            seen += batch.column(0).to_pylist()
        changing.set()
        writer.join()
    finally:
        changing.set()
        session.close()
    assert seen == list(range(1, ROWS + 1))
    assert "standby cancelled" in stream.notes[0]
    assert "max_standby_streaming_delay" in stream.notes[0]
    assert "hot_standby_feedback" in stream.notes[0]
