from __future__ import annotations

import psycopg
import pytest

pytestmark = pytest.mark.postgres


def test_a_database_is_fresh_and_belongs_to_an_ordinary_role(postgres):
    postgres.execute("CREATE TABLE t (id int primary key); INSERT INTO t VALUES (1), (2)")
    assert postgres.execute("SELECT count(*), current_user::text FROM t") == [(2, "rivet")]
    assert postgres.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == [(False,)]
    assert postgres.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user", admin=True) == [(True,)]


def test_the_next_database_knows_nothing_of_the_last(postgres):
    assert postgres.execute("SELECT to_regclass('t')") == [(None,)]


@pytest.mark.parametrize("user", ["rivet", "postgres"])
def test_a_wrong_password_is_refused(postgres, user):
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres.url_with(user=user, password="wrong"))


def test_the_log_holds_what_clients_of_this_database_sent(postgres, postgres_server):
    log = postgres.log.mark()
    with psycopg.connect(postgres.url) as connection:
        connection.execute("SELECT 1")
        connection.execute("SELECT\n  %s::int", [2])
    with psycopg.connect(postgres_server.admin().url) as elsewhere:
        elsewhere.execute("SELECT 3")
    postgres.execute("SELECT 4")
    assert log.statements() == ["BEGIN", "SELECT 1", "SELECT\n  $1::int", "COMMIT"]


def test_a_restart_keeps_the_data_and_cuts_the_clients(postgres):
    postgres.execute("CREATE TABLE kept AS SELECT 7 AS x")
    with postgres.connect() as connection:
        postgres.restart()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert postgres.execute("SELECT x FROM kept") == [(7,)]


def test_a_stopped_server_refuses(postgres):
    postgres.stop()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres.url)


def test_the_server_runs_again_for_the_next_test(postgres):
    assert postgres.execute("SHOW wal_level") == [("logical",)]
