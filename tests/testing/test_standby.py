from __future__ import annotations

import psycopg
import pytest

pytestmark = pytest.mark.postgres


def test_a_standby_shows_what_the_primary_has_and_takes_no_writes(postgres, postgres_standby, postgres_standby_server):
    postgres.execute("CREATE TABLE t AS SELECT generate_series(1, 10) AS id")
    postgres_standby_server.catch_up()
    assert postgres_standby.execute("SELECT count(*), pg_is_in_recovery() FROM t") == [(10, True)]
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        postgres_standby.execute("INSERT INTO t VALUES (11)")


def test_a_paused_standby_lags(postgres, postgres_standby, postgres_standby_server):
    postgres_standby_server.pause()
    try:
        postgres.execute("CREATE TABLE later (id int)")
        assert postgres_standby.execute("SELECT to_regclass('later')") == [(None,)]
    finally:
        postgres_standby_server.resume()
    postgres_standby_server.catch_up()
    assert postgres_standby.execute("SELECT to_regclass('later')::text") == [("later",)]


def test_a_standby_that_was_away_for_long_catches_up(postgres, postgres_standby, postgres_standby_server):
    postgres_standby_server.stop()
    postgres.execute("CREATE TABLE churn (n int)")
    for n in range(4):
        postgres.execute(f"INSERT INTO churn VALUES ({n})")
        postgres.execute("SELECT pg_switch_wal()", admin=True)
        postgres.execute("CHECKPOINT", admin=True)
    postgres_standby_server.start()
    postgres_standby_server.catch_up()
    assert postgres_standby.execute("SELECT count(*) FROM churn") == [(4,)]
